/** Runtimes of the TypeScript SDK of AgentCore: one that streams, and one that answers in JSON and may ask. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { BedrockAgentCoreApp } from "bedrock-agentcore/runtime";
import { tell } from "./parent.ts";
import { decide, join, toolResults } from "./script.ts";

type Payload = { prompt?: string; reply?: string };

/** The messages of the person so far, by session. */
const conversations = new Map<string, string[]>();

function decideNext({ prompt, reply }: Payload, sessionId: string) {
  const userTexts = conversations.get(sessionId) ?? [];
  conversations.set(sessionId, userTexts);
  if (prompt !== undefined) userTexts.push(prompt);
  const looked = prompt === "tool" ? toolResults.look_up : undefined;
  const toolResult = reply === "yes" ? toolResults.delete_file : reply && "The file is kept.";
  // The SDK passes no signal.
  return decide({ userTexts, toolResult: looked ?? toolResult, signal: undefined });
}

async function serve(process: (payload: Payload, sessionId: string) => unknown): Promise<string> {
  const port = await findFreePort();
  const app = new BedrockAgentCoreApp({
    invocationHandler: {
      process: (payload, { sessionId }) => process(payload as Payload, sessionId),
    },
    config: { logging: { enabled: false } },
  });
  app.run({ port, host: "127.0.0.1" });
  const url = `http://127.0.0.1:${port}`;
  while (
    !(await fetch(`${url}/ping`).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await wait(20);
  return `${url}/invocations`;
}

/** The SDK does not tell which port it chose. */
async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

const stream = await serve(async function* (payload, sessionId) {
  const { words, call } = await decideNext(payload, sessionId);
  if (call !== undefined) throw new Error("This one cannot ask.");
  yield* words;
});
const answer = await serve(async (payload, sessionId) => {
  const { words, call } = await decideNext(payload, sessionId);
  if (call !== undefined)
    return { question: { prompt: "Delete the file?", options: ["yes", "no"] } };
  return { result: await join(words) };
});
tell({ event: "ready", urls: { stream, answer } });
