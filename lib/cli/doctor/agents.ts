/** Checks the built-in agents that are called over HTTP: whether they can be reached, admit us, and speak what is configured. */
import { randomUUID } from "node:crypto";
import { listAgents } from "@sekisho/config/agent-list.ts";
import type { AgentConfig } from "@sekisho/config/agent-schema.ts";
import { listAuthorizerSecrets } from "@sekisho/config/authorizer-needs.ts";
import type { AuthorizerConfig } from "@sekisho/config/authorizer-schema.ts";
import {
  isRemote,
  type RemoteAgentConfig,
  readAgentAddress,
  readAgentArn,
  resolveAgentAuthorizer,
} from "@sekisho/config/remote-agent.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { formatSecretName } from "@sekisho/config/secrets.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { isJsonObject, parseJson } from "@sekisho/runtime/untrusted-input.ts";
import { reasonText } from "@sekisho/verification/checks/check-result.ts";
import { createFailedCheck } from "@sekisho/verification/checks/failed-check.ts";
import {
  adviceFor,
  type ForeignProtocol,
  recognizeResponse,
} from "@sekisho/verification/transport/foreign-protocol.ts";
import { PeerProblem } from "@sekisho/verification/transport/peer-problem.ts";
import { type Finding, failure, ok, parseFailure, warning } from "./check.ts";
import { openAuthorized } from "./published.ts";
import type { Machine } from "./targets.ts";

type ModelConfig = Extract<AgentConfig, { baseUrl: string }>;
type CalledAgent = RemoteAgentConfig | ModelConfig;

/** The agents that are called, by their names in the report. */
function listCalled({ execution }: Pick<Config, "execution">): Map<string, CalledAgent> {
  return new Map(
    listAgents(execution).flatMap(({ name = "main agent", agent }) =>
      isCalled(agent) ? [[name, agent] as const] : [],
    ),
  );
}

function isCalled(agent: AgentConfig): agent is CalledAgent {
  return isRemote(agent) || (typeof agent !== "string" && agent.type === "openai-compatible");
}

export function listAgentChecks({ config }: Pick<Machine, "config">): string[] {
  return [...listCalled(config).keys()];
}

type AgentCheck = Pick<Machine, "config" | "readSecret" | "signal">;

/** Starts no work at an agent, as far as its protocol allows it: only one of AG-UI gets a POST, which its protocol makes it refuse. */
export async function checkAgent(check: AgentCheck, name: string): Promise<Finding> {
  const agent = listCalled(check.config).get(name);
  if (agent === undefined) return failure("It is not in the configuration.");
  const arn = readAgentArn(agent);
  if (arn !== undefined) return ok(`${arn} is not called, because each call runs the agent.`);
  const authorizer = chooseAuthorizer(agent);
  const missing = await findMissingSecret(check, authorizer);
  if (missing !== undefined) return missing;
  const { address: url = "" } = readAgentAddress(agent) ?? {};
  if (authorizer.type === "token-exchange")
    return ok(`${url} is not called, because a call needs the token of a person who asks.`);
  const timeoutMs = check.config.limits.callTimeoutMs;
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([check.signal, timeout]);
  const http = openAuthorized({ ...check, authorizer, url });
  try {
    const answer = await ask({ agent, http, url, signal });
    return answer.status === 401 || answer.status === 403
      ? toRefusal(answer.status, authorizer.type)
      : readAnswer(agent, { ...answer, url });
  } catch (thrown) {
    const timedOutMs = timeout.aborted ? timeoutMs : undefined;
    const { summary } = createFailedCheck({
      ...{ thrown, address: url, authorizer: authorizer.type, timedOutMs },
    });
    return parseFailure(summary);
  } finally {
    http.close();
  }
}

function chooseAuthorizer(agent: CalledAgent): AuthorizerConfig {
  if (agent.type !== "openai-compatible") return resolveAgentAuthorizer(agent);
  const { apiKey: token } = agent;
  return token === undefined ? { type: "none" } : { type: "bearer", token };
}

/** Nothing is sent without its secret, so the agent itself is not to blame. The check of the secrets says how to set one. */
async function findMissingSecret(
  { readSecret }: Pick<AgentCheck, "readSecret">,
  authorizer: AuthorizerConfig,
): Promise<Finding | undefined> {
  for (const { reference } of listAuthorizerSecrets(authorizer)) {
    const isReadable = await readSecret(reference).then(Boolean, () => false);
    const name = formatSecretName(reference);
    if (!isReadable)
      return failure(
        `Its secret ${name} cannot be read, so it was not called.`,
        "Set it, or correct its name in the authorizer.",
      );
  }
  return undefined;
}

/** `protocol` is the one that the response is of, if it can be told. */
type Answer = {
  status: number;
  json: unknown;
  isPage: boolean;
  protocol: ForeignProtocol | undefined;
};

async function ask(request: {
  agent: CalledAgent;
  http: ReturnType<typeof openAuthorized>;
  url: string;
  signal: AbortSignal;
}): Promise<Answer> {
  const { agent, http, url, signal } = request;
  const body = Buffer.from(
    JSON.stringify({ jsonrpc: "2.0", id: randomUUID(), method: "rpc.discover" }),
  );
  const target = new URL(url);
  if ("baseUrl" in agent) target.pathname = `${target.pathname.replace(/\/$/, "")}/models`;
  try {
    const { status, body: bytes } =
      agent.type === "ag-ui"
        ? await http.post(target, body, signal)
        : await http.get(target, signal);
    const protocol = recognizeResponse({ status, body: bytes });
    return { status, json: parseJson(bytes), isPage: false, protocol };
  } catch (error) {
    const { cause } = SekishoError.from(error);
    // A page or a stream is not read further, but it is an answer.
    if (!(cause instanceof PeerProblem) || cause.status === undefined) throw error;
    const protocol = cause.name === adviceFor("ag-ui").name ? "ag-ui" : undefined;
    const isPage = cause.name === "ResponseIsHtml";
    return { status: cause.status, json: undefined, isPage, protocol };
  }
}

function toRefusal(status: 401 | 403, authorizer: string): Finding {
  const reason = status === 401 ? "unauthenticated" : "permission_denied";
  const text = reasonText({ reason, authorizer }) ?? "";
  return parseFailure(text.replace(". ", ` (HTTP ${status}). `));
}

function readAnswer(agent: CalledAgent, answer: Answer & { url: string }): Finding {
  const { status, json, protocol, url } = answer;
  const note = `(HTTP ${status})`;
  const typeRemedy = `, and the type: ${sekisho} agents add ${url} --dry-run says what answers there.`;
  if (status >= 500 && protocol === undefined)
    return warning(`It or a proxy in front of it fails ${note}.`, "Look at its log.");
  // An agent of Microsoft Foundry lists no models.
  if (agent.type === "responses" && agent.model === undefined)
    return ok(`It can be reached ${note}.`);
  if ("baseUrl" in agent) return readModels({ model: agent.model, json, note, typeRemedy });
  if (agent.type === "http") return readReachable(answer, note, typeRemedy);
  if (protocol === "ag-ui") return ok(`It answers like an agent that speaks AG-UI ${note}.`);
  if (protocol !== undefined) {
    const { what, remedy } = adviceFor(protocol);
    return failure(`It is configured as ag-ui, but ${what} ${note}.`, remedy);
  }
  const remedy = `Check the url${typeRemedy}`;
  return status === 404 || status === 405
    ? failure(`Nothing accepts POST requests at this path ${note}.`, remedy)
    : warning(`It does not say that it speaks AG-UI ${note}.`, remedy);
}

/** Many servers answer a GET with 404 where they take a POST, so that is no failure. */
function readReachable({ status, isPage }: Answer, note: string, typeRemedy: string): Finding {
  if (isPage && status < 300)
    return warning(`A web page is at this path ${note}.`, `Check the url${typeRemedy}`);
  const doubt = status === 404 ? ", which a wrong path answers too" : "";
  return ok(
    `It can be reached ${note}${doubt}. No message is sent, because that would run the agent.`,
  );
}

function readModels(answer: {
  model: string | undefined;
  json: unknown;
  note: string;
  typeRemedy: string;
}): Finding {
  const { model, json, note, typeRemedy } = answer;
  const listed = isJsonObject(json) && Array.isArray(json.data) ? json.data : undefined;
  if (listed === undefined) {
    const remedy = `Check the baseUrl, which ends in /v1${typeRemedy}`;
    return warning(`It lists no models ${note}.`, remedy);
  }
  return listed.some((each) => Object(each).id === model)
    ? ok(`It offers the model ${model}.`)
    : warning(`It does not list the model ${model} among its ${listed.length}.`, "Check the name.");
}
