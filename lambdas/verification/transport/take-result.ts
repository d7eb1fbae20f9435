/** Repairs results of the Execution zone at the boundary: drops broken optional members and makes texts well-formed. */

import {
  type Artifact,
  acceptedResultSchema,
  artifactSchema,
  cancelResultSchema,
  discoverResultSchema,
  feedbackResultSchema,
  inputRequiredResultSchema,
  legacyErrorResultSchema,
  progressSchema,
  questionOptionSchema,
  successResultSchema,
} from "@sekisho/contracts/methods.ts";
import { maskTokens } from "@sekisho/runtime/redact.ts";
import {
  isJsonObject,
  isNestedTooDeep,
  parseUrl,
  pickMembers,
  sanitizeLine,
  sanitizeLines,
  truncate,
} from "@sekisho/runtime/untrusted-input.ts";
import { leftOutMember } from "../task/task.ts";
import { takeAnswerRules } from "./take-answer-rules.ts";

/** Far more than the twenty files that Slack shows for one answer. Further ones are only counted. */
const maxArtifacts = 100;
const maxOptions = 100;
/** The usage has more members than the token counts that are read, under names that differ from model to model. */
const maxUsageMembers = 100;
/** The limits for the details of an error: the entries of one list, the members of one object, and all of them together. */
const maxListed = 100;
const maxMembers = 1000;
const maxDetails = 5000;
const maxNameLength = 255;

type Members = Record<string, unknown>;

/**
 * Repairs a result: picks the members that are known at each level, and drops optional members that break the contract, because a retry
 * would only return them again. The caller checks the rest against the schema. `isDeep` is false if no member
 * is nested too deeply, so that none needs to be walked.
 */
export function takeResult(result: unknown, { isDeep = true }: { isDeep?: boolean } = {}): unknown {
  if (!isJsonObject(result)) return result;
  switch (result.status) {
    case "success":
      return takeSuccess(result, { isDeep });
    case "accepted":
      return takeAccepted(pickMembers(result, Object.keys(acceptedResultSchema.shape)));
    case "input_required":
      return takeQuestion(pickMembers(result, Object.keys(inputRequiredResultSchema.shape)));
    default:
      return pickMembers(result, otherMembers);
  }
}

/** The members of every other result. */
const otherMembers = [
  cancelResultSchema,
  feedbackResultSchema,
  discoverResultSchema,
  legacyErrorResultSchema,
].flatMap(({ shape }) => Object.keys(shape));
/** The Verification zone reads no `attachments`. */
const { attachments: _, ...readOfSuccess } = successResultSchema.shape;

/** True if the peer reports success, even if the result is unreadable. */
export function isSuccess(result: unknown): boolean {
  return isJsonObject(result) && result.status === "success";
}

/** Repairs the details of an error: keeps the beginning of long lists and objects, and none if they are nested too deeply. */
export function takeErrorData(
  data: unknown,
  { isDeep = true }: { isDeep?: boolean } = {},
): unknown {
  if (isDeep && isNestedTooDeep(data)) return undefined;
  let remainingDetails = maxDetails;

  function shorten(value: unknown): unknown {
    if (Array.isArray(value))
      return value.slice(0, Math.min(maxListed, remainingDetails)).map(takeDetail);
    if (!isJsonObject(value)) return value;
    const names = Object.keys(value).slice(0, Math.min(maxMembers, remainingDetails));
    return Object.fromEntries(names.map((name) => [name, takeDetail(value[name])]));
  }

  function takeDetail(value: unknown): unknown {
    remainingDetails = Math.max(0, remainingDetails - 1);
    return shorten(value);
  }

  return shorten(data);
}

/** A legacy agent has one file in a member of its own, whose `parts` hold it: `contentBase64`, `fileName` and `mimeType`. */
function withLegacyFiles({
  artifacts,
  legacyFile,
}: {
  artifacts: unknown;
  legacyFile: unknown;
}): unknown {
  const { parts } = Object(legacyFile) as Members;
  if (!Array.isArray(parts)) return artifacts;
  const files = parts.slice(0, maxArtifacts).map((part) => {
    const { contentBase64: base64, fileName: name, mimeType: mimetype } = Object(part) as Members;
    return { base64, name, mimetype };
  });
  return Array.isArray(artifacts) ? [...artifacts, ...files] : files;
}

const maxExplanationLength = 2000;

/**
 * Repairs an agent's explanation of a failure, and masks tokens in it, because a failed agent may repeat what it was sent. Returns
 * undefined if there is nothing to read.
 */
export function takeExplanation(explanation: unknown): string | undefined {
  if (typeof explanation !== "string" && typeof explanation !== "number") return undefined;
  const text = maskTokens(
    truncate(String(explanation).trim(), maxExplanationLength).toWellFormed(),
  );
  return text === "" ? undefined : sanitizeLines(text);
}

function takeSuccess(result: Members, { isDeep }: { isDeep: boolean }): Members {
  const {
    artifacts: listedArtifacts,
    usage,
    ...members
  } = pickMembers(result, Object.keys(readOfSuccess));
  const artifacts = withLegacyFiles({
    artifacts: listedArtifacts,
    legacyFile: result.file_artifact,
  });
  const artifactResult = takeArtifacts(artifacts, { isDeep });
  // A legacy agent that answers with a file may have no text.
  const text = members.response_text ?? (artifactResult.artifacts.length > 0 ? "" : undefined);
  return {
    ...withFitting(members, successResultSchema.shape, ["correlation_id"]),
    ...(isJsonObject(usage) && { usage: takeUsage(usage) }),
    ...(typeof text === "string" && { response_text: sanitizeLines(text) }),
    ...(!isAbsent(artifacts) && { artifacts: artifactResult.artifacts }),
    ...(artifactResult.leftOut > 0 && { [leftOutMember]: artifactResult.leftOut }),
  };
}

/** Keeps the first members that hold no others. */
function takeUsage(usage: Members): Members {
  const names = Object.keys(usage).slice(0, maxUsageMembers);
  return Object.fromEntries(
    names.flatMap((name) => (Object(usage[name]) === usage[name] ? [] : [[name, usage[name]]])),
  );
}

function takeAccepted(members: Members): Members {
  const { progress, ...others } = members;
  const acceptedMembers = withFitting(others, acceptedResultSchema.shape, [
    "poll_after_ms",
    "expires_at",
  ]);
  if (!isJsonObject(progress)) return acceptedMembers;
  const progressMembers = pickMembers(progress, Object.keys(progressSchema.shape));
  const validMembers = withFitting(progressMembers, progressSchema.shape, [
    "text",
    "percent",
    "partial_text",
    "steps",
  ]);
  const texts = Object.entries(validMembers).map(([name, member]) => [
    name,
    typeof member === "string" ? sanitizeLines(member) : member,
  ]);
  return { ...acceptedMembers, progress: Object.fromEntries(texts) };
}

/** A broken question stays a question, because the task waits for a reply. */
function takeQuestion(members: Members): Members {
  const {
    prompt,
    options,
    url: _url,
    answerers: _answerers,
    approvals: _number,
    ...others
  } = members;
  return {
    ...takeAnswerRules(members),
    ...withFitting(others, inputRequiredResultSchema.shape, [
      "fields",
      "kind",
      "question_id",
      "expires_at",
    ]),
    prompt: typeof prompt === "string" ? sanitizeLines(prompt) : "",
    ...(Array.isArray(options) && { options: options.slice(0, maxOptions).flatMap(takeOption) }),
  };
}

function takeOption(option: unknown): unknown[] {
  if (!isJsonObject(option)) return [];
  const optionMembers = pickMembers(option, Object.keys(questionOptionSchema.shape));
  const { data } = questionOptionSchema.safeParse(
    withFitting(optionMembers, questionOptionSchema.shape, ["style"]),
  );
  return data === undefined ? [] : [{ ...data, label: sanitizeLine(data.label) }];
}

function takeArtifacts(
  artifacts: unknown,
  { isDeep }: { isDeep: boolean },
): { artifacts: Artifact[]; leftOut: number } {
  if (isAbsent(artifacts)) return { artifacts: [], leftOut: 0 };
  if (!Array.isArray(artifacts)) return { artifacts: [], leftOut: 1 };
  const validArtifacts = artifacts
    .slice(0, maxArtifacts)
    .map((artifact) => takeArtifact(artifact, { isDeep }))
    .filter((artifact) => artifact !== undefined);
  return { artifacts: validArtifacts, leftOut: artifacts.length - validArtifacts.length };
}

/** Some encoders break base64 into lines. */
const lineEnds = /[\r\n]/g;

const contents = ["text", "base64", "data", "url"] as const;

/** Like every optional field, `null` and `""` mean that there is none. */
function isAbsent(member: unknown): boolean {
  return member === undefined || member === null || member === "";
}

/** Returns undefined if the artifact has no valid content. */
function takeArtifact(artifact: unknown, { isDeep }: { isDeep: boolean }): Artifact | undefined {
  if (!isJsonObject(artifact)) return undefined;
  const { name, url, base64, data, ...others } = pickMembers(
    artifact,
    Object.keys(artifactSchema.shape),
  );
  const validMembers = withFitting(
    {
      ...others,
      ...(data !== undefined && !(isDeep && isNestedTooDeep(data)) && { data }),
      ...(typeof base64 === "string" && { base64: base64.replaceAll(lineEnds, "") }),
      ...(typeof url === "string" && isWebAddress(url) && { url }),
    },
    artifactSchema.shape,
    ["mimetype", "text", "base64", "url"],
  );
  const nameMember = typeof name === "string" ? { name: truncate(name, maxNameLength) } : {};
  const presentMembers = Object.fromEntries(
    Object.entries(validMembers).filter(([, member]) => member !== null),
  );
  if (!contents.some((member) => presentMembers[member] !== undefined)) return undefined;
  return artifactSchema.safeParse({ ...presentMembers, ...nameMember }).data;
}

function isWebAddress(url: string): boolean {
  return url === "" || /^https?:$/.test(parseUrl(url)?.protocol ?? "");
}

type Fits = { safeParse(value: unknown): { success: boolean } };

/** Drops those members listed in `names` that do not fit the schema. */
function withFitting<N extends string>(
  members: Members,
  shape: Record<N, Fits>,
  names: readonly N[],
): Members {
  const brokenNames = names.filter(
    (name) => name in members && !shape[name].safeParse(members[name]).success,
  );
  return Object.fromEntries(
    Object.entries(members).filter(([name]) => !(brokenNames as string[]).includes(name)),
  );
}
