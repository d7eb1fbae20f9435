/** Repairs results of an Execution zone at the boundary: broken optional parts are left out, texts are made well-formed. */

import {
  type Artifact,
  acceptedResultSchema,
  artifactSchema,
  inputRequiredResultSchema,
  progressSchema,
  questionOptionSchema,
  successResultSchema,
} from "../../../contracts/methods.ts";
import { isNestedTooDeep, parseUrl, sanitizeLine, sanitizeLines } from "../../shared/untrusted-input.ts";
import { leftOutMember } from "../task/task.ts";

/** Slack shows twenty of them. The others are counted only. */
const maxArtifacts = 100;
const maxOptions = 100;
/** The most entries of any other list: checking half a million would take seconds. */
const maxListed = 100;
const maxNameLength = 255;

type Members = Record<string, unknown>;

/**
 * The same result with well-formed texts and keys, without members that are nested too deeply, and without optional members
 * that break the contract: repeating the call would only bring them again. The caller checks what is left against the schema.
 */
export function takeResult(result: unknown): unknown {
  if (!isObject(result)) return result;
  const { artifacts, attachments, [leftOutMember]: _, ...others } = result;
  const listed = Array.isArray(attachments) ? attachments.slice(0, maxListed) : attachments;
  const members = shallowMembers({ ...others, ...(attachments !== undefined && { attachments: listed }) });
  switch (members.status) {
    case "success":
      return takeSuccess(members, artifacts);
    case "accepted":
      return takeAccepted(members);
    case "input_required":
      return takeQuestion(members);
    default:
      return members;
  }
}

/** Whether the peer says that the task has succeeded, readable or not. */
export function isSuccess(result: unknown): boolean {
  return isObject(result) && result.status === "success";
}

/** Repairs the details of an error: undefined where they are nested too deeply, with long lists shortened. */
export function takeErrorData(data: unknown): unknown {
  return isNestedTooDeep(data) ? undefined : wellFormed(withShortLists(data));
}

function takeSuccess(members: Members, artifacts: unknown): Members {
  const { response_text: text } = members;
  const taken = takeArtifacts(artifacts);
  return {
    ...withFitting(members, successResultSchema.shape, ["attachments", "usage", "correlation_id"]),
    ...(typeof text === "string" && { response_text: sanitizeLines(text) }),
    ...(artifacts !== undefined && artifacts !== null && { artifacts: taken.artifacts }),
    ...(taken.leftOut > 0 && { [leftOutMember]: taken.leftOut }),
  };
}

function takeAccepted(members: Members): Members {
  const { progress, ...others } = members;
  const kept = withFitting(others, acceptedResultSchema.shape, ["poll_after_ms", "expires_at"]);
  if (!isObject(progress)) return kept;
  const fitting = withFitting(progress, progressSchema.shape, ["text", "percent", "partial_text"]);
  return { ...kept, progress: mapTexts(fitting, sanitizeLines) };
}

/** A broken question stays a question, because the task waits for an answer. */
function takeQuestion(members: Members): Members {
  const { prompt, options, ...others } = members;
  return {
    ...withFitting(others, inputRequiredResultSchema.shape, ["kind", "question_id", "expires_at"]),
    prompt: typeof prompt === "string" ? sanitizeLines(prompt) : "",
    ...(Array.isArray(options) && { options: options.slice(0, maxOptions).flatMap(takeOption) }),
  };
}

function takeOption(option: unknown): unknown[] {
  if (!isObject(option)) return [];
  const { data } = questionOptionSchema.safeParse(withFitting(option, questionOptionSchema.shape, ["style"]));
  return data === undefined ? [] : [{ ...data, label: sanitizeLine(data.label) }];
}

function takeArtifacts(artifacts: unknown): { artifacts: Artifact[]; leftOut: number } {
  if (artifacts === undefined || artifacts === null) return { artifacts: [], leftOut: 0 };
  if (!Array.isArray(artifacts)) return { artifacts: [], leftOut: 1 };
  const taken = artifacts
    .slice(0, maxArtifacts)
    .map(takeArtifact)
    .filter((artifact) => artifact !== undefined);
  return { artifacts: taken, leftOut: artifacts.length - taken.length };
}

const contents = ["text", "base64", "data", "url"] as const;

/** Undefined where it has contents and none of them can be carried. */
function takeArtifact(artifact: unknown): Artifact | undefined {
  if (!isObject(artifact)) return undefined;
  const { name, url, ...others } = shallowMembers(artifact);
  const fitting = withFitting(
    { ...others, ...(typeof url === "string" && isWebAddress(url) && { url }) },
    artifactSchema.shape,
    ["mimetype", "text", "base64", "url"],
  );
  const named = typeof name === "string" ? { name: name.slice(0, maxNameLength).toWellFormed() } : {};
  const hadContent = contents.some((member) => artifact[member] !== undefined && artifact[member] !== null);
  const hasContent = contents.some((member) => fitting[member] !== undefined && fitting[member] !== null);
  if (hadContent && !hasContent) return undefined;
  return artifactSchema.safeParse({ ...fitting, ...named }).data;
}

function isWebAddress(url: string): boolean {
  return url === "" || /^https?:$/.test(parseUrl(url)?.protocol ?? "");
}

type Fits = { safeParse(value: unknown): { success: boolean } };

/** The members without those of `names` that do not fit the schema. */
function withFitting<N extends string>(members: Members, shape: Record<N, Fits>, names: readonly N[]): Members {
  const broken = names.filter((name) => name in members && !shape[name].safeParse(members[name]).success);
  return Object.fromEntries(Object.entries(members).filter(([name]) => !(broken as string[]).includes(name)));
}

function shallowMembers(members: Members): Members {
  const shallow = Object.entries(members).filter(([, member]) => !isNestedTooDeep(member));
  return wellFormed(Object.fromEntries(shallow)) as Members;
}

/** A copy without half characters in any text or key. `Object.fromEntries` makes plain members also of keys like `__proto__`. */
function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name.toWellFormed(), wellFormed(member)]));
}

function withShortLists(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, maxListed).map(withShortLists);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withShortLists(member)]));
}

function mapTexts(members: Members, change: (text: string) => string): Members {
  const changed = Object.entries(members).map(([name, member]) => [
    name,
    typeof member === "string" ? change(member) : member,
  ]);
  return Object.fromEntries(changed);
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
