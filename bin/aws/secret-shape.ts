/** Does a value look like the secret that it is to be? Pure; says what is expected, never what came. */
import type { SecretUse } from "./stage-secrets.ts";

const shapes: Partial<Record<SecretUse, { pattern: RegExp; expected: string }>> = {
  "signing secret": { pattern: /^[0-9a-f]{32}$/, expected: "32 hexadecimal digits" },
  "bot token": { pattern: /^xoxb-/, expected: 'a text that starts with "xoxb-"' },
};

/** What was expected, or undefined where nothing speaks against the value. */
export function unexpectedShape({ use, value }: { use: SecretUse; value: string }): string | undefined {
  const shape = shapes[use];
  return shape === undefined || shape.pattern.test(value) ? undefined : shape.expected;
}
