/** The agent card as a client reads it (A2A 1.0, section 4.4.1): what it needs to know, lenient about everything else. */
import * as z from "zod";
import { optionalText, optionalValue, readableList } from "./values.ts";

const url = z.string().min(1).max(2048);

/** One place where an agent can be reached. `protocolBinding`: JSONRPC, GRPC, HTTP+JSON or a URI. */
export const interfaceSchema = z.object({
  url,
  protocolBinding: z.string().min(1).max(2048),
  protocolVersion: z.string().min(1).max(32),
  tenant: optionalText(256),
});
export type AgentInterface = z.infer<typeof interfaceSchema>;

/** At most so many are looked at. */
const maxInterfaces = 50;

function interfaces<T extends z.ZodType>(item: T) {
  return optionalValue(readableList(item).transform((entries) => entries.slice(0, maxInterfaces)));
}

/** A card of 1.0, or of 0.3 (`url`, `preferredTransport`, `additionalInterfaces`), or one that is both. */
export const readCardSchema = z.object({
  /** Every card has one: what has none is no card. */
  name: z.string().max(1000),
  supportedInterfaces: interfaces(interfaceSchema),
  protocolVersion: optionalText(32),
  url: optionalText(2048),
  preferredTransport: optionalText(2048),
  additionalInterfaces: interfaces(z.object({ url, transport: z.string().max(2048) })),
});
export type ReadCard = z.infer<typeof readCardSchema>;

/** Where an agent's host has its card (A2A 1.0, section 8.2). */
export const agentCardPath = "/.well-known/agent-card.json";
