/** Builds the OpenRPC document of the contract (https://spec.open-rpc.org) from the zod schemas. */
import * as z from "zod";
import { toErrorCode } from "./dialects.ts";
import { errorDataSchema } from "./error-data.ts";
import { isRetryable, type Reason, reasons, SekishoError } from "./errors.ts";
import { examples } from "./examples.ts";
import { jsonSchemaOptions } from "./json-schema.ts";
import {
  acceptedResultSchema,
  artifactSchema,
  attachmentSchema,
  cancelResultSchema,
  discoverResultSchema,
  feedbackResultSchema,
  historyItemSchema,
  inputRequiredResultSchema,
  type MethodName,
  methods,
  successResultSchema,
  taskResultSchema,
} from "./methods.ts";
import { contractVersion } from "./version.ts";

const components = {
  Attachment: attachmentSchema,
  HistoryItem: historyItemSchema,
  Artifact: artifactSchema,
  SuccessResult: successResultSchema,
  AcceptedResult: acceptedResultSchema,
  InputRequiredResult: inputRequiredResultSchema,
  TaskResult: taskResultSchema,
  CancelResult: cancelResultSchema,
  FeedbackResult: feedbackResultSchema,
  DiscoverResult: discoverResultSchema,
  ErrorData: errorDataSchema,
} as const;

/** The errors of every method. OpenRPC demands that no two errors of one method share a number. */
const everywhere = [
  "parse_error",
  "invalid_request",
  "method_not_found",
  "invalid_params",
  "internal",
  "unauthenticated",
  "permission_denied",
  "rate_limited",
  "unavailable",
  "payload_too_large",
] as const satisfies readonly Reason[];
const endings = [
  "timeout",
  "execution_failed",
  "budget_exceeded",
  "plan_error",
  "canceled",
] as const;

type Description = { summary: string; result: keyof typeof components; errors: readonly Reason[] };

const descriptions: Record<MethodName, Description> = {
  execute_task: {
    summary:
      "Runs a task. Returns its result at once, or `accepted` and a task id to poll. A request with a known UUID does not run again.",
    result: "TaskResult",
    errors: ["agent_not_found", "already_exists", "session_ending", "asker_unverified", ...endings],
  },
  get_task: {
    summary:
      "Returns the state or the outcome of a task. Send exactly one of its task id and its request id.",
    result: "TaskResult",
    errors: ["task_not_found", ...endings],
  },
  cancel_task: {
    summary:
      "Cancels a task. Send exactly one of its task id and its request id. Canceling twice is fine.",
    result: "CancelResult",
    errors: ["task_not_found", "invalid_state"],
  },
  answer_task: {
    summary: "Answers the question of a task that is `input_required`.",
    result: "TaskResult",
    errors: ["task_not_found", "invalid_state", "session_ending", "asker_unverified", ...endings],
  },
  feedback: {
    summary:
      "Tells what a person thinks of the answer of a completed task. A host may lack this method.",
    result: "FeedbackResult",
    errors: ["task_not_found", "invalid_state"],
  },
  "rpc.discover": { summary: "Returns this document.", result: "DiscoverResult", errors: [] },
};

export type OpenRpc = {
  openrpc: string;
  info: { title: string; version: string; description: string };
  methods: readonly Record<string, unknown>[];
  components: { schemas: Record<string, unknown>; errors: Record<string, unknown> };
};

/** Takes a few milliseconds, so a server keeps the document. */
export function buildOpenRpc(): OpenRpc {
  const schemas = namedSchemas();
  return {
    openrpc: "1.3.2",
    info: {
      title: "Sekisho zone contract",
      version: contractVersion,
      description:
        "JSON-RPC 2.0 between the Verification zone and the Execution zone: one Request object in the body, no batch, no notifications.",
    },
    methods: (Object.keys(methods) as MethodName[]).map((name) => method({ name, schemas })),
    components: {
      schemas: Object.fromEntries(Object.keys(components).map((name) => [name, schemas.get(name)])),
      errors: Object.fromEntries(reasons.map((reason) => [reason, errorObject(reason)])),
    },
  };
}

type Schema = z.core.JSONSchema.BaseSchema;

function method(request: {
  name: MethodName;
  schemas: ReadonlyMap<string, Schema>;
}): Record<string, unknown> {
  const { name, schemas } = request;
  const { summary, result, errors } = descriptions[name];
  const params = schemas.get(name);
  return {
    name,
    summary,
    paramStructure: "by-name",
    params: Object.entries(params?.properties ?? {}).map(([param, schema]) => ({
      name: param,
      required: params?.required?.includes(param) ?? false,
      schema,
    })),
    result: { name: "result", schema: { $ref: componentUri(result) } },
    errors: [...everywhere, ...errors].map((reason) => ({ $ref: `#/components/errors/${reason}` })),
    examples: [exampleOf(name)],
  };
}

function exampleOf(name: MethodName): Record<string, unknown> {
  const { summary, params = {}, result } = examples[name];
  return {
    name,
    summary,
    params: Object.entries(params).map(([param, value]) => ({ name: param, value })),
    result: { name: "result", value: result },
  };
}

/** The components, and the params by method name, as a receiver accepts them. In draft 7, which OpenRPC demands. */
function namedSchemas(): ReadonlyMap<string, Schema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(components)) registry.add(schema, { id });
  for (const [id, { params }] of Object.entries(methods)) registry.add(params, { id });
  const { schemas } = z.toJSONSchema(registry, {
    uri: componentUri,
    target: "draft-7",
    ...jsonSchemaOptions,
  });
  return new Map(Object.entries(schemas).map(([id, { $schema, $id, ...schema }]) => [id, schema]));
}

function componentUri(id: string): string {
  return `#/components/schemas/${id}`;
}

function errorObject(reason: Reason): Record<string, unknown> {
  const { message } = new SekishoError(reason);
  return {
    code: toErrorCode({ reason, dialect: "zone" }),
    message,
    data: { reason, retryable: isRetryable(reason) },
  };
}
