/** The agents of the Execution zone: a file of one's own, or a built-in one that calls a model or an agent elsewhere. */

import { isJsonWithin } from "@sekisho/contracts/json-size.ts";
import * as z from "zod";
import { authorizerSchema } from "./authorizer-schema.ts";
import { listPlaceholders, placeholders } from "./request-template.ts";
import {
  harnessArnSchema,
  httpUrl,
  integer,
  oneOf,
  qualifierSchema,
  regionSchema,
  runtimeArnSchema,
  secretSchema,
} from "./values.ts";

const agentFile = /^\.{0,2}\/.+\.(ts|mts|js|mjs)$/;
/** A URL may have these placeholders only. */
const urlWith = (...names: string[]) =>
  httpUrl()
    .refine(
      (url) => listPlaceholders(url).every((name) => names.includes(name)),
      `may have the placeholder ${names.map((name) => `{${name}}`).join(" and ")} only`,
    )
    .optional();
const idleTimeoutSchema = integer(1000, 3600_000)
  .optional()
  .describe("The longest silence of an answer. Default: 120000.");
/** The place at which an agent of another protocol is called: an address, or a runtime of AgentCore. */
const remoteTarget = {
  url: urlWith("session").describe(
    "The URL of requests. {session} in path or query is an id of the conversation (a UUID).",
  ),
  runtimeArn: runtimeArnSchema.optional().describe("An AgentCore runtime instead of a URL."),
  qualifier: qualifierSchema.optional().describe("The name of the endpoint. Default: DEFAULT."),
  authorizer: authorizerSchema
    .optional()
    .describe(
      'How calls prove who makes them. Default: with an ARN the signature of the role of the Execution zone (sigv4), else { "type": "none" }.',
    ),
  idleTimeoutMs: idleTimeoutSchema,
};

const { qualifier, authorizer, idleTimeoutMs } = remoteTarget;

/** The agent is called at one place. */
function withOneTarget<
  T extends z.ZodType<{ url?: unknown; runtimeArn?: unknown; qualifier?: unknown }>,
>(schema: T): T {
  return schema
    .refine(({ url, runtimeArn }) => (url === undefined) !== (runtimeArn === undefined), {
      path: ["url"],
      message: "is needed, or runtimeArn instead of it; set one of the two",
    })
    .refine(({ qualifier, runtimeArn }) => qualifier === undefined || runtimeArn !== undefined, {
      path: ["qualifier"],
      message: "has no effect without runtimeArn; remove it",
    });
}

/** A request or a part of it, in which texts such as {text} are replaced. */
const templateSchema = z
  .record(z.string(), z.json())
  .refine((value) => isJsonWithin({ value, maxBytes: 64 * 1024 }), "must be at most 64 KiB")
  .superRefine((template, context) => {
    const unknownNames = listPlaceholders(template).filter(
      (name) => !Object.hasOwn(placeholders, name),
    );
    if (unknownNames.length === 0) return;
    const names = Object.keys(placeholders).map((name) => `{${name}}`);
    const message = `has no placeholder {${unknownNames[0]}}; choose from ${names.join(", ")}`;
    context.addIssue({ code: "custom", message });
  });
const pathSchema = z
  .string()
  .regex(/^\$(\.[\w-]+|\[-?\d+\])*$/, "must be a path such as $.result or $.messages[-1].content");
/** The headers that the host sets itself, or that decide how the message is read. */
const ownHeaders =
  /^(accept|accept-encoding|authorization|connection|content-.*|cookie|expect|host|te|trailer|transfer-encoding|upgrade|x-amz.*)$/;
const headersSchema = z.record(
  z
    .string()
    .regex(/^[a-z0-9-]{1,64}$/, "must be the name of a header in lower case")
    .refine((name) => !ownHeaders.test(name), "is a header that is set already; remove it"),
  z.string().regex(/^[\x20-\x7e]{0,1024}$/, "must be a value of printable ASCII characters"),
);
const referenceText = z.string().min(1).max(256);
const responsesSchema = z
  .strictObject({
    type: z.literal("responses"),
    baseUrl: httpUrl().describe(
      "The URL of the API, up to and including /v1. Its query is sent with each call.",
    ),
    model: referenceText
      .optional()
      .describe("The name of the model. Default: none, for the address of one agent."),
    agent: z
      .strictObject({
        name: referenceText.describe("The name of the agent."),
        version: referenceText.optional().describe("Its version. Default: the latest."),
      })
      .optional()
      .describe("A prompt agent of Microsoft Foundry, instead of a model."),
    system: z.string().optional().describe("The system prompt (instructions). Default: none."),
    store: z
      .boolean()
      .optional()
      .describe(
        "true: the endpoint keeps the conversation. false: it keeps nothing. Default: it decides.",
      ),
    background: z
      .boolean()
      .default(false)
      .describe("The endpoint works without an open connection, and keeps the response."),
    headers: headersSchema
      .default({})
      .describe("Further headers of each call, without secrets. Default: none."),
    authorizer: authorizerSchema
      .optional()
      .describe('How calls prove who makes them. Default: { "type": "none" }.'),
    idleTimeoutMs: idleTimeoutSchema,
  })
  .refine(({ model, agent }) => model === undefined || agent === undefined, {
    path: ["model"],
    message: "has no effect beside agent; remove one of the two",
  })
  .refine(({ store, background }) => !(background && store === false), {
    path: ["store"],
    message: "must not be false with background; remove it",
  })
  .describe("Calls an endpoint of OpenAI's Responses API, such as Microsoft Foundry.");
const placeholderList = Object.entries(placeholders)
  .map(([name, value]) => `{${name}}: ${value}`)
  .join("; ");

export const agentSchema = z.union(
  [
    z.literal("echo"),
    z
      .string()
      .regex(agentFile, {
        error: ({ input }) =>
          agentFile.test(`./${input}`)
            ? `must begin with ./, such as "./${input}"`
            : 'must be "echo", or the path of your agent file such as ./agent.ts',
      })
      .describe("The path of your agent file, which exports the function `agent`."),
    z.discriminatedUnion(
      "type",
      [
        z
          .strictObject({
            type: z.literal("openai-compatible"),
            baseUrl: httpUrl().describe("The URL of the API, up to and including /v1."),
            model: z.string().min(1).describe("The name of the model."),
            apiKey: secretSchema
              .optional()
              .describe("The API key, sent as a bearer token. Default: none is sent."),
            system: z.string().optional().describe("The system prompt. Default: none."),
          })
          .describe("Calls an endpoint with OpenAI's chat completions API and streaming."),
        z
          .strictObject({
            type: z.literal("bedrock"),
            modelId: z
              .string()
              .min(1)
              .max(2048)
              .describe("The id or ARN of a model or of an inference profile."),
            region: regionSchema
              .optional()
              .describe("The region of Bedrock. Default: the Execution zone's region."),
            system: z.string().optional().describe("The system prompt. Default: none."),
            maxTokens: integer(1)
              .optional()
              .describe("The most tokens of an answer. Default: the model's own."),
            guardrail: z
              .strictObject({
                id: z.string().min(1).describe("The id of the guardrail."),
                version: z
                  .string()
                  .regex(/^(DRAFT|\d{1,8})$/, "must be DRAFT or a number")
                  .describe("Its version: DRAFT or a number."),
              })
              .optional()
              .describe("The Bedrock guardrail that checks messages and answers. Default: none."),
          })
          .describe("Calls a model of Amazon Bedrock (ConverseStream)."),
        responsesSchema,
        withOneTarget(
          z.strictObject({
            type: z.literal("ag-ui"),
            ...remoteTarget,
            protocolVersion: z
              .enum(["1.0", "none"])
              .default("1.0")
              .describe(
                "The version of AG-UI in requests. none: for Python servers before November 2025.",
              ),
          }),
        ).describe("Calls an agent that speaks AG-UI."),
        withOneTarget(
          z.strictObject({
            type: z.literal("http"),
            ...remoteTarget,
            url: urlWith("session", "conversation").describe(
              "The URL of requests. {session} and {conversation} in path or query are as in request.",
            ),
            request: templateSchema
              .default({ prompt: "{text}" })
              .describe(
                `The body of the request as JSON. Placeholders in its texts are replaced; a text that is one placeholder becomes the value itself. ${placeholderList}.`,
              ),
            answer: pathSchema
              .optional()
              .describe(
                "The path of the answer, in a response or in each event of a stream. Default: the body itself if it is a text, or the first text in result, response, output, answer, text and message.",
              ),
            question: pathSchema
              .optional()
              .describe(
                "The path of a question in a response: a text, or an object with a text in question, prompt, message, text or description, and options. Default: the agent asks nothing.",
              ),
            resume: templateSchema
              .optional()
              .describe(
                "The body that brings the answer to a question, with the placeholders of request.",
              ),
            conversation: pathSchema
              .optional()
              .describe(
                "The path of what the next request of the conversation needs as {conversation}, such as the agent's id. Kept for 30 days. Default: nothing is kept.",
              ),
          }),
        )
          .refine(({ question, resume }) => (question === undefined) === (resume === undefined), {
            path: ["resume"],
            message: "and question need each other; set both or none",
          })
          .refine(
            ({ conversation, url, request, resume }) =>
              conversation !== undefined ||
              !listPlaceholders([url, request, resume]).includes("conversation"),
            { path: ["conversation"], message: "is needed for the placeholder {conversation}" },
          )
          .describe(
            'Posts JSON to an endpoint that answers with JSON or a stream of events, such as {"prompt": "…"} of AgentCore\'s templates.',
          ),
        z
          .strictObject({
            type: z.literal("harness"),
            harnessArn: harnessArnSchema.describe("The ARN of the harness."),
            ...{ qualifier, authorizer, idleTimeoutMs },
            actor: z
              .enum(["person", "none"])
              .default("person")
              .describe("Whose memory the harness uses: each person's own, or one for everybody."),
            memory: z
              .boolean()
              .default(true)
              .describe(
                "false for a harness without memory: each message has its own session and brings the thread.",
              ),
          })
          .describe("Calls a managed harness of Amazon Bedrock AgentCore (InvokeHarness)."),
      ],
      oneOf("openai-compatible", "bedrock", "responses", "ag-ui", "http", "harness"),
    ),
  ],
  'must be "echo", the path of your agent file such as ./agent.ts, or an object with a type',
);

export type AgentConfig = z.infer<typeof agentSchema>;
