/** Checks that a value looks like the right kind of secret. Describes the expected form, and never shows the value. */
import type { SecretUse } from "./stage-secrets.ts";

/** A terminal reads one line, and a PEM text has several. */
const pemText = "a PEM text (set it in the environment, because it has several lines)";

const shapes: Partial<Record<SecretUse, { pattern: RegExp; expected: string }>> = {
  "signing secret": { pattern: /^[0-9a-f]{32}$/, expected: "32 hexadecimal digits" },
  "Slack client secret": { pattern: /^[0-9a-f]{32}$/, expected: "32 hexadecimal digits" },
  "bot token": { pattern: /^xoxb-/, expected: 'a text that starts with "xoxb-"' },
  certificate: pem("CERTIFICATE"),
  "CA certificate": pem("CERTIFICATE"),
  "private key": {
    pattern: /^-----BEGIN (RSA |EC )?PRIVATE KEY-----\r?\n(?!Proc-Type)/,
    expected: `${pemText} that is not encrypted`,
  },
};

/** Returns a description of the expected form, or undefined if the value may be right. */
export function findExpectedShape({
  use,
  value,
}: {
  use: SecretUse;
  value: string;
}): string | undefined {
  const shape = shapes[use];
  return shape === undefined || shape.pattern.test(value) ? undefined : shape.expected;
}

/** RFC 7468. */
function pem(label: string): { pattern: RegExp; expected: string } {
  return { pattern: new RegExp(`^-----BEGIN ${label}-----\\r?\\n`), expected: pemText };
}
