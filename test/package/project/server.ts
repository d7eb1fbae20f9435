import { checkEndpoint } from "@sekisho/conformance";
import { contractVersion } from "@sekisho/contracts";
import { createExecutionZone } from "@sekisho/execution";
import { agent } from "./agent.ts";

const token = "a-token-that-is-long-enough";
const zone = createExecutionZone({
  agent,
  tokens: [token],
  path: "/agents/sekisho",
  logLevel: "error",
});
const body = {
  jsonrpc: "2.0",
  id: "1",
  method: "execute_task",
  params: { channel: "C1", text: "hello" },
};
const ask = (address: string, bearer: string) =>
  zone.fetch(
    new Request(address, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${bearer}` },
      body: JSON.stringify(body),
    }),
  );
const answer = await (await ask("https://example.com/agents/sekisho", token)).text();
if (!answer.includes("You wrote: hello")) throw new Error(answer);
const statuses = [
  (await ask("https://example.com/agents/sekisho", "another-token-that-nobody-gave-out")).status,
  (await ask("https://example.com/agents/sekisho-of-another", token)).status,
];
if (statuses.join() !== "401,404") throw new Error(statuses.join());

const server = await zone.listen({ port: 0 });
const report = await checkEndpoint({ url: new URL(server.url), token, hasSecondLook: false });
await server.close();
await zone.close();
const isKept = !("unreachable" in report) && report.kept;
console.log(`contract ${contractVersion}: ${isKept ? "kept" : JSON.stringify(report)}`);
