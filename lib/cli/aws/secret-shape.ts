/** Does a value look like the secret that it is to be? Pure; says what is expected, never what came. */
import type { SecretUse } from "./stage-secrets.ts";

/** The terminal is asked for one line. */
const pemText = "a PEM text, whose lines come by the environment";

const shapes: Partial<Record<SecretUse, { pattern: RegExp; expected: string }>> = {
  "signing secret": { pattern: /^[0-9a-f]{32}$/, expected: "32 hexadecimal digits" },
  "Slack client secret": { pattern: /^[0-9a-f]{32}$/, expected: "32 hexadecimal digits" },
  "bot token": { pattern: /^xoxb-/, expected: 'a text that starts with "xoxb-"' },
  certificate: pem("CERTIFICATE"),
  "CA certificate": pem("CERTIFICATE"),
  "private key": {
    pattern: /^-----BEGIN (RSA |EC )?PRIVATE KEY-----\r?\n(?!Proc-Type)/,
    expected: `${pemText}, and it must not be encrypted`,
  },
};

/** What was expected, or undefined where nothing speaks against the value. */
export function findExpectedShape({ use, value }: { use: SecretUse; value: string }): string | undefined {
  const shape = shapes[use];
  return shape === undefined || shape.pattern.test(value) ? undefined : shape.expected;
}

/** RFC 7468. */
function pem(label: string): { pattern: RegExp; expected: string } {
  return { pattern: new RegExp(`^-----BEGIN ${label}-----\\r?\\n`), expected: pemText };
}
