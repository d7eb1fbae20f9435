/** SQS's emulator as a process of its own, since its package cannot be loaded by tests; says its address, ends with its input. */
import { buildApp } from "fauxqs";

const app = buildApp({ logger: false, defaultRegion: "eu-central-1" });
await app.listen({ host: "127.0.0.1", port: 0 });
const address = app.server.address();
if (typeof address === "object" && address !== null) console.log(`http://127.0.0.1:${address.port}`);
process.stdin.resume().once("end", () => process.exit(0));
