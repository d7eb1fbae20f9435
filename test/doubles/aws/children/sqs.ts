/**
 * SQS's emulator as a process, since tests cannot load its package. It prints its address, and ends with its input.
 * An argument is the time at which its clock stands still.
 */
import { stopClock } from "./still-clock.ts";

const [, , stillAtMs] = process.argv;
if (stillAtMs !== undefined) stopClock({ atMs: Number(stillAtMs) });
const { buildApp } = await import("fauxqs");

// The emulator mistakes characters beyond U+FFFF for lone surrogates; SQS accepts them (SendMessage, "valid Unicode characters").
const types = (await import(new URL("sqs/sqsTypes.js", import.meta.resolve("fauxqs")).href)) as {
  INVALID_MESSAGE_BODY_CHAR: RegExp;
};
const refusal = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u;
Object.assign(types.INVALID_MESSAGE_BODY_CHAR, { test: (text: string) => refusal.test(text) });

const app = buildApp({ logger: false });
console.log(await app.listen({ host: "127.0.0.1", port: 0 }));
process.stdin.resume().once("end", () => process.exit(0));
