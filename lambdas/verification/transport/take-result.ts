/** Repairs results of the Execution zone at the boundary: drops broken optional members and makes texts well-formed. */

import {
  type Artifact,
  acceptedResultSchema,
  artifactSchema,
  inputRequiredResultSchema,
  legacyErrorResultSchema,
  progressSchema,
  questionOptionSchema,
  successResultSchema,
} from "../../../contracts/methods.ts";
import { maskTokens } from "../../shared/redact.ts";
import {
  isJsonObject,
  isNestedTooDeep,
  parseUrl,
  sanitizeLine,
  sanitizeLines,
  toWellFormed,
  truncate,
} from "../../shared/untrusted-input.ts";
import { leftOutMember } from "../task/task.ts";

/** Far more than the twenty files that Slack shows for one answer. Further ones are only counted. */
const maxArtifacts = 100;
const maxOptions = 100;
/** The limit for every other list, because checking half a million entries would take seconds. */
const maxListed = 100;
const maxNameLength = 255;
/** The limit for the members of one object. */
const maxMembers = 1000;

type Members = Record<string, unknown>;

/**
 * Repairs a result: makes texts and keys well-formed, and drops members that are nested too deeply and optional members that break the
 * contract, because a retry would only return them again. The caller checks the rest against the schema.
 */
export function takeResult(result: unknown): unknown {
  if (!isJsonObject(result)) return result;
  const { artifacts, attachments, file_artifact: legacyFile, [leftOutMember]: _, ...others } = withFewMembers(result);
  const listed = Array.isArray(attachments) ? attachments.slice(0, maxListed) : attachments;
  const members = shallowMembers({ ...others, ...(attachments !== undefined && { attachments: listed }) });
  switch (members.status) {
    case "success":
      return takeSuccess(members, withLegacyFiles({ artifacts, legacyFile }));
    case "accepted":
      return takeAccepted(members);
    case "input_required":
      return takeQuestion(members);
    default:
      return members;
  }
}

/** The members that the contract and legacy agents know. */
const knownMembers = [
  ...Object.keys(successResultSchema.shape),
  ...Object.keys(acceptedResultSchema.shape),
  ...Object.keys(inputRequiredResultSchema.shape),
  ...Object.keys(legacyErrorResultSchema.shape),
  "file_artifact",
];

/** Each further step would take a tenth of a second for a hundred thousand members. */
function withFewMembers(members: Members): Members {
  if (Object.keys(members).length <= maxMembers) return members;
  return Object.fromEntries(knownMembers.flatMap((name) => (name in members ? [[name, members[name]]] : [])));
}

/** True if the peer reports success, even if the result is unreadable. */
export function isSuccess(result: unknown): boolean {
  return isJsonObject(result) && result.status === "success";
}

/** Repairs the details of an error: shortens long lists and objects, and returns undefined if the details are nested too deeply. */
export function takeErrorData(data: unknown): unknown {
  return isNestedTooDeep(data) ? undefined : toWellFormed(withShortLists(data));
}

/** A legacy agent has one file in a member of its own, whose `parts` hold it: `contentBase64`, `fileName` and `mimeType`. */
function withLegacyFiles({ artifacts, legacyFile }: { artifacts: unknown; legacyFile: unknown }): unknown {
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
  const text = maskTokens(truncate(String(explanation).trim(), maxExplanationLength).toWellFormed());
  return text === "" ? undefined : sanitizeLines(text);
}

function takeSuccess(members: Members, artifacts: unknown): Members {
  const taken = takeArtifacts(artifacts);
  // A legacy agent that answers with a file may have no text.
  const text = members.response_text ?? (taken.artifacts.length > 0 ? "" : undefined);
  return {
    ...withFitting(members, successResultSchema.shape, ["attachments", "usage", "correlation_id"]),
    ...(typeof text === "string" && { response_text: sanitizeLines(text) }),
    ...(!isAbsent(artifacts) && { artifacts: taken.artifacts }),
    ...(taken.leftOut > 0 && { [leftOutMember]: taken.leftOut }),
  };
}

function takeAccepted(members: Members): Members {
  const { progress, ...others } = members;
  const kept = withFitting(others, acceptedResultSchema.shape, ["poll_after_ms", "expires_at"]);
  if (!isJsonObject(progress)) return kept;
  const fitting = withFitting(progress, progressSchema.shape, ["text", "percent", "partial_text", "steps"]);
  const texts = Object.entries(fitting).map(([name, member]) => [
    name,
    typeof member === "string" ? sanitizeLines(member) : member,
  ]);
  return { ...kept, progress: Object.fromEntries(texts) };
}

/** A broken question stays a question, because the task waits for a reply. */
function takeQuestion(members: Members): Members {
  const { prompt, options, ...others } = members;
  return {
    ...withFitting(others, inputRequiredResultSchema.shape, ["fields", "kind", "question_id", "expires_at"]),
    prompt: typeof prompt === "string" ? sanitizeLines(prompt) : "",
    ...(Array.isArray(options) && { options: options.slice(0, maxOptions).flatMap(takeOption) }),
  };
}

function takeOption(option: unknown): unknown[] {
  if (!isJsonObject(option)) return [];
  const { data } = questionOptionSchema.safeParse(withFitting(option, questionOptionSchema.shape, ["style"]));
  return data === undefined ? [] : [{ ...data, label: sanitizeLine(data.label) }];
}

function takeArtifacts(artifacts: unknown): { artifacts: Artifact[]; leftOut: number } {
  if (isAbsent(artifacts)) return { artifacts: [], leftOut: 0 };
  if (!Array.isArray(artifacts)) return { artifacts: [], leftOut: 1 };
  const taken = artifacts
    .slice(0, maxArtifacts)
    .map(takeArtifact)
    .filter((artifact) => artifact !== undefined);
  return { artifacts: taken, leftOut: artifacts.length - taken.length };
}

/** Some encoders break base64 into lines. */
const lineEnds = /[\r\n]/g;

const contents = ["text", "base64", "data", "url"] as const;

/** Like every optional field, `null` and `""` mean that there is none. */
function isAbsent(member: unknown): boolean {
  return member === undefined || member === null || member === "";
}

/** Returns undefined if the artifact has no valid content. */
function takeArtifact(artifact: unknown): Artifact | undefined {
  if (!isJsonObject(artifact)) return undefined;
  const { name, url, base64, ...others } = shallowMembers(artifact);
  const fitting = withFitting(
    {
      ...others,
      ...(typeof base64 === "string" && { base64: base64.replaceAll(lineEnds, "") }),
      ...(typeof url === "string" && isWebAddress(url) && { url }),
    },
    artifactSchema.shape,
    ["mimetype", "text", "base64", "url"],
  );
  const named = typeof name === "string" ? { name: name.slice(0, maxNameLength).toWellFormed() } : {};
  const given = Object.fromEntries(Object.entries(fitting).filter(([, member]) => member !== null));
  if (!contents.some((member) => given[member] !== undefined)) return undefined;
  return artifactSchema.safeParse({ ...given, ...named }).data;
}

function isWebAddress(url: string): boolean {
  return url === "" || /^https?:$/.test(parseUrl(url)?.protocol ?? "");
}

type Fits = { safeParse(value: unknown): { success: boolean } };

/** Drops those members listed in `names` that do not fit the schema. */
function withFitting<N extends string>(members: Members, shape: Record<N, Fits>, names: readonly N[]): Members {
  const broken = names.filter((name) => name in members && !shape[name].safeParse(members[name]).success);
  return Object.fromEntries(Object.entries(members).filter(([name]) => !(broken as string[]).includes(name)));
}

function shallowMembers(members: Members): Members {
  const shallow = Object.entries(members).filter(([, member]) => !isNestedTooDeep(member));
  return toWellFormed(Object.fromEntries(shallow)) as Members;
}

function withShortLists(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, maxListed).map(withShortLists);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).slice(0, maxMembers);
  return Object.fromEntries(members.map(([name, member]) => [name, withShortLists(member)]));
}
