/**
 * Encodes and decodes errors in every dialect: the error object with its `data`, and the HTTP response of a host.
 */
import * as z from "zod";
import { canRepeat } from "./certainty.ts";
import { type Dialect, listReasons, toErrorCode, toHttpStatus } from "./dialects.ts";
import type { JsonRpcErrorObject, RequestId } from "./envelope.ts";
import { type ErrorDetails, isRetryable, type Reason, reasons, SekishoError } from "./errors.ts";
import { maxTaskIdLength } from "./limits.ts";
import { optionalField } from "./optional-field.ts";

export const reasonSchema = z.enum(reasons as [Reason, ...Reason[]]);

/** `data` of an error object, outside of A2A 1.0. */
export const errorDataSchema = z.object({
  reason: reasonSchema,
  retryable: z.boolean(),
  retry_after_ms: optionalField(z.int().min(0)),
  task_id: optionalField(z.string().max(maxTaskIdLength)),
  correlation_id: optionalField(z.string().max(128)),
  issues: optionalField(z.array(z.object({ path: z.string(), message: z.string() }))),
  current: optionalField(z.string()),
  target: optionalField(z.string()),
  lost: optionalField(z.boolean()),
});

/**
 * Finds the reason by `data`, then by the number, then by the HTTP status. `status` narrows a number that several reasons share, and
 * replaces one that the dialect does not know. If several reasons remain, or none (then it is `internal`), the error is `guessed`. Never
 * throws, whatever `data` is.
 */
export function decodeError(request: {
  error: JsonRpcErrorObject;
  dialect: Dialect;
  status?: number | undefined;
}): SekishoError {
  const { error, dialect, status } = request;
  const { code } = error;
  const { reason, retryable, details: knownDetails } = findInData(error.data);
  const issues =
    knownDetails.issues ?? (code === invalidParamsCode ? foreignIssues(error.data) : undefined);
  const details = issues === undefined ? knownDetails : { ...knownDetails, issues };
  if (reason !== undefined) {
    const wasGuessed = retryable === false && isRetryable(reason);
    return new SekishoError(reason, {
      details,
      code,
      certainty: wasGuessed ? "guessed" : "refused",
    });
  }
  const byCode = withoutNewer(listReasons({ code, dialect }));
  const pool = byCode.length > 0 ? byCode : withoutNewer(reasons);
  const byStatus = pool.filter((candidate) => toHttpStatus(candidate) === status);
  const possibleReasons = byStatus.length > 0 ? byStatus : byCode;
  return new SekishoError(possibleReasons[0] ?? "internal", {
    details,
    code,
    certainty: possibleReasons.length === 1 ? "refused" : "guessed",
  });
}

/** A number or a status that others share means what it meant in 1.0.0, which knew no `asker_unverified`. */
function withoutNewer(candidates: readonly Reason[]): readonly Reason[] {
  const olderReasons = candidates.filter((reason) => reason !== "asker_unverified");
  return olderReasons.length === 0 ? candidates : olderReasons;
}

/**
 * Sends the reason's fixed text and nothing of the cause. `ambiguous` is never on the wire and becomes `internal`. A2A expresses some
 * reasons as the state of a task. For calls without a task, the error object then has our own number.
 */
export function encodeError({
  error,
  dialect,
}: {
  error: SekishoError;
  dialect: Dialect;
}): JsonRpcErrorObject {
  if (error.reason === "ambiguous") {
    return encodeError({
      error: new SekishoError("internal", { details: error.details }),
      dialect,
    });
  }
  const { reason } = error;
  const code = toErrorCode({ reason, dialect, target: error.details.target });
  const data =
    dialect === "a2a"
      ? detailsToArray({ error, reason, code })
      : detailsToObject({ error, reason });
  return { code, message: error.message, data };
}

type ErrorResponse = {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: { jsonrpc: "2.0"; id?: RequestId | null; error: JsonRpcErrorObject };
};

/**
 * Most errors have HTTP status 200. In VAPORA's dialect every reason has a status of its own, and the response has no `id`. 429 and 503
 * always carry `retry-after`, one second by default.
 */
export function createErrorResponse(options: {
  error: SekishoError;
  id: RequestId | null;
  dialect: Dialect;
}): ErrorResponse {
  const { error, id, dialect } = options;
  const status = statusOf({
    reason: error.reason === "ambiguous" ? "internal" : error.reason,
    id,
    dialect,
  });
  const retryAfterSeconds = Math.max(Math.ceil((error.details.retry_after_ms ?? 0) / 1000), 1);
  return {
    status,
    headers: status === 429 || status === 503 ? { "retry-after": String(retryAfterSeconds) } : {},
    body: {
      jsonrpc: "2.0",
      ...(dialect === "vapora" ? {} : { id }),
      error: encodeError({ error, dialect }),
    },
  };
}

/** `retryable: false` beside a retryable reason means that the sender only guessed the reason. */
type DecodedData = {
  reason?: Reason | undefined;
  retryable?: boolean | undefined;
  details: ErrorDetails;
};

const { reason: _reason, retryable: _retryable, ...detailFields } = errorDataSchema.shape;

function detailsToObject({
  error,
  reason,
}: {
  error: SekishoError;
  reason: Reason;
}): Record<string, unknown> {
  return { reason, retryable: canRepeat(error), ...error.details };
}

/** Keeps the known fields that are well-formed. Some agents send `{ missing: [...] }`, which becomes issues. Never throws. */
function detailsFromObject(data: Readonly<Record<string, unknown>>): DecodedData {
  const details: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(detailFields)) {
    const value = schema.safeParse(data[name]).data;
    if (value !== undefined) details[name] = value;
  }
  const missing = Array.isArray(data.missing)
    ? data.missing.filter((name) => typeof name === "string")
    : [];
  if (missing.length > 0) details.issues ??= missing.map((path) => ({ path, message: "missing" }));
  return {
    reason: reasonSchema.safeParse(data.reason).data,
    retryable: typeof data.retryable === "boolean" ? data.retryable : undefined,
    details,
  };
}

const errorInfoType = "type.googleapis.com/google.rpc.ErrorInfo";
const retryInfoType = "type.googleapis.com/google.rpc.RetryInfo";
const badRequestType = "type.googleapis.com/google.rpc.BadRequest";
const a2aDomain = "a2a-protocol.org";
const ownDomain = "sekisho";

/** A2A's own names of its numbers. */
const a2aNames: readonly { code: number; name: string; reason: Reason }[] = [
  { code: -32001, name: "TASK_NOT_FOUND", reason: "task_not_found" },
  { code: -32002, name: "TASK_NOT_CANCELABLE", reason: "invalid_state" },
  { code: -32003, name: "PUSH_NOTIFICATION_NOT_SUPPORTED", reason: "push_not_supported" },
  { code: -32004, name: "UNSUPPORTED_OPERATION", reason: "unsupported_operation" },
  { code: -32005, name: "CONTENT_TYPE_NOT_SUPPORTED", reason: "content_type_not_supported" },
  { code: -32006, name: "INVALID_AGENT_RESPONSE", reason: "invalid_response" },
  {
    code: -32007,
    name: "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    reason: "extended_card_not_configured",
  },
  { code: -32008, name: "EXTENSION_SUPPORT_REQUIRED", reason: "extension_required" },
  { code: -32009, name: "VERSION_NOT_SUPPORTED", reason: "version_not_supported" },
];

const errorInfoSchema = z.object({
  "@type": z.literal(errorInfoType),
  domain: z.string(),
  reason: z.string(),
  metadata: z.record(z.string(), z.unknown()).catch({}),
});
const retryInfoSchema = z.object({
  "@type": z.literal(retryInfoType),
  retryDelay: z.string().regex(/^\d{1,13}(\.\d{1,9})?s$/),
});
const badRequestSchema = z.object({
  "@type": z.literal(badRequestType),
  fieldViolations: z.array(z.object({ field: z.string(), description: z.string() })),
});

/**
 * `data` in A2A 1.0 (section 9.5) is an array of google.rpc error details: A2A's ErrorInfo if A2A has a name for the number, our own
 * ErrorInfo, then RetryInfo and BadRequest.
 */
function detailsToArray(request: {
  error: SekishoError;
  reason: Reason;
  code: number;
}): readonly unknown[] {
  const { error, reason, code } = request;
  const { retry_after_ms, issues, ...ids } = error.details;
  const a2aName = a2aNames.find((entry) => entry.code === code)?.name;
  const metadata = Object.entries({ retryable: canRepeat(error), ...ids })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, String(value)]);
  return [
    ...(a2aName === undefined ? [] : [a2aInfo({ name: a2aName, taskId: error.details.task_id })]),
    {
      "@type": errorInfoType,
      reason: reason.toUpperCase(),
      domain: ownDomain,
      metadata: Object.fromEntries(metadata),
    },
    ...(retry_after_ms === undefined
      ? []
      : [{ "@type": retryInfoType, retryDelay: toDuration(retry_after_ms) }]),
    ...(issues === undefined
      ? []
      : [
          {
            "@type": badRequestType,
            fieldViolations: issues.map(({ path, message }) => ({
              field: path,
              description: message,
            })),
          },
        ]),
  ];
}

/** The reason that the details of an error name. Undefined for details that name none. */
export function findReason(data: unknown): Reason | undefined {
  return findInData(data).reason;
}

/** Our own reason counts before A2A's. Skips what is malformed or unknown. Never throws. */
function detailsFromArray(data: readonly unknown[]): DecodedData {
  const infos = data.flatMap((item) => errorInfoSchema.safeParse(item).data ?? []);
  const own = infos.find((info) => info.domain === ownDomain);
  const a2a = infos.find((info) => info.domain === a2aDomain);
  const details = detailsFromObject({
    task_id: a2a?.metadata.taskId,
    ...booleans(own?.metadata ?? {}),
    ...delayIn(data),
    ...issuesIn(data),
    reason: own?.reason.toLowerCase(),
  });
  return {
    ...details,
    reason: details.reason ?? a2aNames.find((entry) => entry.name === a2a?.reason)?.reason,
  };
}

function a2aInfo({ name, taskId }: { name: string; taskId: string | undefined }) {
  const metadata = taskId === undefined ? {} : { metadata: { taskId } };
  return { "@type": errorInfoType, reason: name, domain: a2aDomain, ...metadata };
}

function delayIn(data: readonly unknown[]): ErrorDetails {
  const delay = data.flatMap((item) => retryInfoSchema.safeParse(item).data ?? [])[0]?.retryDelay;
  return delay === undefined ? {} : { retry_after_ms: fromDuration(delay) };
}

function issuesIn(data: readonly unknown[]): ErrorDetails {
  const violations = data.flatMap((item) => badRequestSchema.safeParse(item).data ?? [])[0]
    ?.fieldViolations;
  if (violations === undefined) return {};
  return {
    issues: violations.map(({ field, description }) => ({ path: field, message: description })),
  };
}

const invalidParamsCode = -32602;
const listNames = ["issues", "errors", "details", "detail", "violations", "fieldViolations"];
const pathNames = ["path", "loc", "field", "instancePath", "param", "parameter", "property"];
const messageNames = ["message", "msg", "description", "error"];
const maxIssues = 100;

type Issue = { path: string; message: string };

/** Reads what common validators say of fields: a list in `data` or in a member of it, or members by field. Never throws. */
export function foreignIssues(data: unknown): Issue[] | undefined {
  const members = Object(data) as Record<string, unknown>;
  const list = Array.isArray(data)
    ? data
    : listNames.map((name) => members[name]).find((each) => Object(each) === each);
  const byField = list !== undefined && !Array.isArray(list) ? Object.entries(Object(list)) : [];
  const issues = [
    ...byField.map(([path, messages]) => ({
      path,
      message: String([messages].flat().filter(isText)[0] ?? ""),
    })),
    ...(Array.isArray(list) ? list : [data]).slice(0, maxIssues).flatMap(toIssue),
  ];
  return issues.length === 0 ? undefined : issues.slice(0, maxIssues);
}

/** A path is a text, or a list of names and indexes. */
function toIssue(entry: unknown): Issue[] {
  const members = Object(entry) as Record<string, unknown>;
  const paths = pathNames.map((name) =>
    [members[name]].flat().filter((step) => isText(step) || Number.isInteger(step)),
  );
  const path = paths.find((steps) => steps.length > 0)?.join(".");
  const message = messageNames.map((name) => members[name]).find(isText) ?? "";
  return path === undefined || path === "" ? [] : [{ path, message }];
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** Metadata values are strings by their schema, so the two booleans are restored. */
function booleans(metadata: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(metadata).map(([name, value]) =>
    name === "retryable" || name === "lost" ? [name, value === "true"] : [name, value],
  );
  return Object.fromEntries(entries);
}

/** A protobuf Duration in JSON, such as `"1.500s"`. */
function toDuration(ms: number): string {
  return `${Math.floor(ms / 1000)}.${String(ms % 1000).padStart(3, "0")}s`;
}

/** Rounds up to a millisecond. */
function fromDuration(text: string): number {
  const [seconds = "0", fraction = "0"] = text.slice(0, -1).split(".");
  return Number(seconds) * 1000 + Math.ceil(Number(fraction.padEnd(9, "0")) / 1_000_000);
}

function findInData(data: unknown): DecodedData {
  if (Array.isArray(data)) return detailsFromArray(data);
  if (typeof data === "object" && data !== null) return detailsFromObject({ ...data });
  return { details: {} };
}

/** The reasons that platforms and proxies between the zones act on. */
const statusReasons: readonly Reason[] = [
  "unauthenticated",
  "permission_denied",
  // By the status, a client of 1.0.0 reads it as permission_denied.
  "asker_unverified",
  "rate_limited",
];

function statusOf({
  reason,
  id,
  dialect,
}: {
  reason: Reason;
  id: RequestId | null;
  dialect: Dialect;
}): number {
  // A body that is too large is refused before its id is read. With an id, it was the result that was too large.
  const isRefusedBody = reason === "payload_too_large" && id === null;
  const isA2aOutage = reason === "unavailable" && (dialect === "a2a" || dialect === "a2a-0.3");
  const hasStatus =
    dialect === "vapora" || isRefusedBody || isA2aOutage || statusReasons.includes(reason);
  return hasStatus ? toHttpStatus(reason) : 200;
}
