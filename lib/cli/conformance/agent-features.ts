/** The features that a kind of agent can serve by its protocol, beside those that a few runs of it have shown. */
import type { AgentConfig } from "@sekisho/config/agent-schema.ts";
import { listPlaceholders } from "@sekisho/config/request-template.ts";
import { formatTable } from "../table.ts";

const features = [
  "answer",
  "partial answer",
  "progress and plan",
  "question",
  "files",
  "cancel",
  "clear failure",
  "usage",
  "conversation",
] as const;
export type Feature = (typeof features)[number];

/** The features that runs of an agent have shown. */
export type Seen = Partial<Record<Feature, string>>;
export type FeatureRow = { feature: Feature; protocol: string; seen: string };

/** The report counts as passed if this was seen. The others are what people may miss. */
export const requiredFeature: Feature = "answer";

const closes = "yes: closes the connection";
const sendsThread = "yes: the thread is sent";
const ofFile = Object.fromEntries(features.map((feature) => [feature, "as its code does"]));

type BuiltInType = Exclude<Exclude<AgentConfig, string>["type"], "http">;

/** A feature that a kind does not list is not in its protocol. */
const byProtocol: Record<BuiltInType, Partial<Record<Feature, string>>> = {
  "ag-ui": {
    ...{ answer: "yes", "partial answer": "yes", "progress and plan": "yes", question: "yes" },
    ...{ files: "yes: of tools", cancel: closes, "clear failure": "yes", usage: "yes" },
    conversation: sendsThread,
  },
  harness: {
    ...{ answer: "yes", "partial answer": "yes", "progress and plan": "yes: names of tools" },
    ...{ question: "yes: by an inline function", cancel: closes, "clear failure": "yes" },
    ...{ usage: "yes", conversation: "yes: an id of it is sent" },
  },
  responses: {
    ...{ answer: "yes", "partial answer": "yes", "progress and plan": "yes: names of tools" },
    ...{ question: "yes: approvals of tools", files: "yes", cancel: closes },
    ...{ "clear failure": "yes", usage: "yes", conversation: sendsThread },
  },
  "openai-compatible": {
    ...{ answer: "yes", "partial answer": "yes", cancel: closes, "clear failure": "yes" },
    "progress and plan": "yes: names of tools",
    ...{ usage: "yes", conversation: sendsThread },
  },
  bedrock: {
    ...{ answer: "yes", "partial answer": "yes", cancel: closes, "clear failure": "yes" },
    ...{ usage: "yes", conversation: sendsThread },
  },
};

export function listFeatures(agent: AgentConfig, seen: Readonly<Seen>): FeatureRow[] {
  const protocolFeatures = describeProtocol(agent);
  return features.map((feature) => ({
    feature,
    protocol: protocolFeatures[feature] ?? "no",
    seen: seen[feature] ?? "no",
  }));
}

function describeProtocol(agent: AgentConfig): Partial<Record<Feature, string>> {
  if (typeof agent === "string") return ofFile;
  if (agent.type !== "http") return byProtocol[agent.type];
  const { request, url = "", question, runtimeArn } = agent;
  const placeholders = [...listPlaceholders(request), ...listPlaceholders(decodeURI(url))];
  const names = (...wanted: string[]) => wanted.some((name) => placeholders.includes(name));
  const hasSession = runtimeArn !== undefined || names("session", "conversation");
  return {
    ...{ answer: "yes", "partial answer": "if it streams", cancel: closes },
    ...{ "clear failure": "yes: an HTTP status, or a member error" },
    question: question === undefined ? "no: set question and resume" : "yes",
    conversation: names("messages", "history")
      ? sendsThread
      : hasSession
        ? "yes: an id of it is sent"
        : "no: name {messages} or {session} in request",
  };
}

export function formatFeatures(rows: readonly FeatureRow[]): string {
  const lines = rows.map(({ feature, protocol, seen }) => [feature, protocol, seen]);
  return formatTable([["feature", "by the protocol", "seen"], ...lines]).join("\n");
}
