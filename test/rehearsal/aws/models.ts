/** A model of Bedrock that answers everything with one sentence, as a stream. */
import { metadata, stop, text } from "../../execution/agents/bedrock-server.ts";
import type { Backend } from "./gateway.ts";

export const modelSays = "A sekisho was a checkpoint on a highway.";

export const models: Backend = async () => {
  const usage = { inputTokens: 5, outputTokens: 9, totalTokens: 14 };
  const body = Buffer.concat([text(modelSays), stop("end_turn"), metadata(usage)]);
  return new Response(new Uint8Array(body), { headers: { "content-type": "application/vnd.amazon.eventstream" } });
};
