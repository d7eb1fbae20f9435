/**
 * The agent card (A2A 1.0, section 4.4.1). A client reads it leniently. An agent publishes it strictly: no required list or text may be
 * empty.
 */
import * as z from "zod";
import { optionalText, optionalValue, readableList } from "./values.ts";

const url = z.string().min(1).max(2048);

/** An address of the agent. `protocolBinding` is JSONRPC, GRPC, HTTP+JSON or a URI. */
const interfaceSchema = z.object({
  url,
  protocolBinding: z.string().min(1).max(2048),
  protocolVersion: z.string().min(1).max(32),
  tenant: optionalText(256),
});
export type AgentInterface = z.infer<typeof interfaceSchema>;

/** Bounds the work for a card of unknown origin. */
const maxInterfaces = 50;

function interfaces<T extends z.ZodType>(item: T) {
  return optionalValue(readableList(item).transform((entries) => entries.slice(0, maxInterfaces)));
}

/** Reads a card of 1.0, of 0.3 (`url`, `preferredTransport`, `additionalInterfaces`), or of both. */
export const readCardSchema = z.object({
  /** Required, so that other JSON is not taken for a card. */
  name: z.string().max(1000),
  supportedInterfaces: interfaces(interfaceSchema),
  protocolVersion: optionalText(32),
  url: optionalText(2048),
  preferredTransport: optionalText(2048),
  additionalInterfaces: interfaces(z.object({ url, transport: z.string().max(2048) })),
  capabilities: z
    .object({
      streaming: optionalValue(z.boolean()).catch(undefined),
      extensions: optionalValue(readableList(z.object({ uri: z.string() }))).catch(undefined),
    })
    .catch({ streaming: undefined, extensions: undefined }),
});
export type ReadCard = z.infer<typeof readCardSchema>;

/** A2A 1.0, section 8.2. */
export const agentCardPath = "/.well-known/agent-card.json";

const text = z.string().min(1);
const texts = z.array(text).min(1);
const struct = z.record(z.string(), z.unknown());

const extensionSchema = z.object({
  uri: text,
  description: text.optional(),
  required: z.boolean().optional(),
  params: struct.optional(),
});

const skillSchema = z.object({
  id: text,
  name: text,
  description: text,
  tags: texts,
  examples: texts.optional(),
});

/** The two of A2A's five kinds that an Execution host can ask for. */
const securitySchemeSchema = z.union([
  z.strictObject({
    httpAuthSecurityScheme: z.object({
      scheme: text,
      bearerFormat: text.optional(),
      description: text.optional(),
    }),
  }),
  z.strictObject({
    openIdConnectSecurityScheme: z.object({ openIdConnectUrl: text, description: text.optional() }),
  }),
]);
export type SecurityScheme = z.infer<typeof securitySchemeSchema>;

/** The schemes of one requirement are needed together, each with its scopes. Of several requirements, one is enough. */
const securityRequirementSchema = z.object({
  schemes: z.record(z.string(), z.object({ list: z.array(z.string()).optional() })),
});

/** A JWS over the card without its signatures (section 8.4). */
const signatureSchema = z.object({ protected: text, signature: text, header: struct.optional() });

export const agentCardSchema = z.object({
  name: text,
  description: text,
  supportedInterfaces: z.array(interfaceSchema).min(1),
  provider: z.object({ organization: text, url: text }).optional(),
  version: text,
  documentationUrl: text.optional(),
  iconUrl: text.optional(),
  capabilities: z.object({
    streaming: z.boolean().optional(),
    pushNotifications: z.boolean().optional(),
    extendedAgentCard: z.boolean().optional(),
    extensions: z.array(extensionSchema).optional(),
  }),
  securitySchemes: z.record(z.string(), securitySchemeSchema).optional(),
  securityRequirements: z.array(securityRequirementSchema).optional(),
  defaultInputModes: texts,
  defaultOutputModes: texts,
  skills: z.array(skillSchema).min(1),
  signatures: z.array(signatureSchema).optional(),
});
export type AgentCard = z.infer<typeof agentCardSchema>;
