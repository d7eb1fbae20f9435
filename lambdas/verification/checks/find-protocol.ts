/** Finds what an address speaks by reading what agents publish there. It sends only GET requests, which start no work. */

import { agentCardPath } from "@sekisho/contracts/a2a/card.ts";
import { isJsonObject } from "@sekisho/runtime/untrusted-input.ts";

/** Resolves to `json: undefined` for anything but a JSON body. A rejection says nothing about the address either. */
export type Read = (url: URL) => Promise<{ status: number; json: unknown }>;

export type PublishedProtocol =
  | { protocol: "a2a"; cardUrl: string; card: unknown }
  | { protocol: "openai-compatible"; baseUrl: string; models: readonly string[] };

/** Undefined if there is neither an agent card nor a list of models. */
export async function findProtocol(request: {
  read: Read;
  url: URL;
}): Promise<PublishedProtocol | undefined> {
  return (await readCard(request)) ?? (await readModels(request));
}

/** The card of an A2A agent: at the address itself, or below it, or at its origin (A2A 1.0, section 8.2). */
async function readCard({ read, url }: { read: Read; url: URL }) {
  const below = new URL(`${url.pathname.replace(/\/$/, "")}${agentCardPath}`, url);
  for (const cardUrl of new Set([url.href, below.href, new URL(agentCardPath, url).href])) {
    const { status, json } = await read(new URL(cardUrl)).catch(toNothing);
    if (status === 200 && isAgentCard(json))
      return { protocol: "a2a" as const, cardUrl, card: json };
  }
  return undefined;
}

/** OpenAI's list of models (https://platform.openai.com/docs/api-reference/models/list). */
async function readModels({ read, url }: { read: Read; url: URL }) {
  const path = url.pathname.replace(/(?:\/chat\/completions|\/responses)?\/?$/, "");
  const baseUrl = new URL(path.endsWith("/v1") ? path : `${path}/v1`, url).href;
  const { json } = await read(new URL(`${baseUrl}/models`)).catch(toNothing);
  const listed = isJsonObject(json) && Array.isArray(json.data) ? json.data : [];
  const ids: unknown[] = listed.map((each) => (isJsonObject(each) ? each.id : undefined));
  const models = ids.filter((id) => typeof id === "string");
  return models.length === 0
    ? undefined
    : { protocol: "openai-compatible" as const, baseUrl, models };
}

/** Many endpoints take only a POST. */
function toNothing() {
  return { status: 0, json: undefined };
}

/** True for the card of an agent (A2A 1.0, section 4.4.1, and 0.3). */
function isAgentCard(json: unknown): boolean {
  return (
    isJsonObject(json) &&
    "name" in json &&
    "skills" in json &&
    ("supportedInterfaces" in json || "url" in json)
  );
}
