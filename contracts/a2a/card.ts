/** The agent card as a client reads it (A2A 1.0, section 4.4.1): what it needs to know, lenient about everything else. */
import * as z from "zod";
import { optionalList, optionalText } from "./values.ts";

const url = z.string().min(1).max(2048);

/** One place where an agent can be reached. `protocolBinding`: JSONRPC, GRPC, HTTP+JSON or a URI. */
export const interfaceSchema = z.object({
  url,
  protocolBinding: z.string().min(1).max(2048),
  protocolVersion: z.string().min(1).max(32),
  tenant: optionalText(256),
});
export type AgentInterface = z.infer<typeof interfaceSchema>;

const capabilitiesSchema = z
  .object({ streaming: z.boolean().optional(), pushNotifications: z.boolean().optional() })
  .default({});

/** An entry that is malformed hides itself and not the others. */
function readable<T extends z.ZodType>(item: T) {
  return optionalList(z.unknown(), 50).transform((entries) =>
    entries?.flatMap((entry) => {
      const { success, data } = item.safeParse(entry);
      return success ? [data] : [];
    }),
  );
}

/** A card of 1.0, or of 0.3 (`url`, `preferredTransport`, `additionalInterfaces`), or one that is both. */
export const readCardSchema = z.object({
  name: z.string().max(1000),
  supportedInterfaces: readable(interfaceSchema),
  protocolVersion: optionalText(32),
  url: optionalText(2048),
  preferredTransport: optionalText(2048),
  additionalInterfaces: readable(z.object({ url, transport: z.string().max(2048) })),
  capabilities: capabilitiesSchema,
});
export type ReadCard = z.infer<typeof readCardSchema>;
