/** SQS's emulator as a process of its own, since its package cannot be loaded by tests; says its address, ends with its input. */
import { buildApp } from "fauxqs";

const app = buildApp({ logger: false });
console.log(await app.listen({ host: "127.0.0.1", port: 0 }));
process.stdin.resume().once("end", () => process.exit(0));
