/** The operators' page as a handler of requests: who may, which file, what is read, what is done. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { readRequestBody } from "../../../lambdas/shared/http/read-body.ts";
import type { Log } from "../../../lambdas/shared/log.ts";
import { commonHeaders, respondJson } from "../web/common-headers.ts";
import { readToken } from "../web/door.ts";
import { hasContentType, parseJson } from "../web/request.ts";
import type { Admission, AdmissionRefusal, AdmittedOperator } from "./admission/admission.ts";
import { createApi } from "./api.ts";
import { type Asset, contentSecurityPolicy, loadAssets } from "./assets.ts";
import { createExplain } from "./explain.ts";
import { handleSignIn } from "./handle-sign-in.ts";
import { apiPath, base, documentPaths, signInPath } from "./paths.ts";
import type { ConsoleSource } from "./source.ts";
import { createLiveStream } from "./tasks/live-stream.ts";
import { createLiveTasks } from "./tasks/live-tasks.ts";

const maxBodyBytes = 64 * 1024;

export type OperatorsPage = {
  /** False, and nothing is done, where the address is none of the page's. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Ends open streams, so that a server can close. */
  close(): void;
};

export function createOperatorsPage({
  source,
  admission,
  pollMs,
  log,
}: {
  source: ConsoleSource;
  admission: Admission;
  pollMs?: number | undefined;
  log: Log;
}): OperatorsPage {
  const assets = loadAssets();
  const explain = createExplain({ log });
  const api = createApi({ source, signsIn: admission.signsIn, explain, log });
  const live = createLiveTasks({ place: source.place, explain, ...(pollMs !== undefined && { pollMs }) });
  const stream = createLiveStream({ live });

  async function answer(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const path = url.pathname;
    const asset = assets.get(path);
    const token = documentPaths.includes(path) ? readToken(request) : undefined;
    if (token !== undefined) return enter(request, response, token);
    const isOpen = path === signInPath || (request.method === "GET" && asset?.isPublic === true);
    const admitted: AdmissionRefusal | AdmittedOperator = isOpen
      ? { operator: "anyone" }
      : await admission.admit(request);
    if ("status" in admitted) return refuse(request, response, { path, refusal: admitted, signsIn: admission.signsIn });
    if (request.method === "POST") return post(request, response, { path, admitted });
    if (request.method !== "GET") return respondPlain(response.setHeader("allow", "GET, POST"), 405, "GET or POST.");
    if (path === signInPath && !admission.signsIn) return redirect(response, base);
    if (asset !== undefined) return respondAsset(response, asset);
    if (documentPaths.includes(path)) return redirect(response, base);
    if (path === `${apiPath}live`) {
      if (!stream.open(response, { endsInMs: admission.streamMs, ended: admitted.ended }))
        respondPlain(response, 503, "Too many look at it already.");
      return;
    }
    if (!path.startsWith(apiPath)) return respondPlain(response, 404, "There is nothing at this address.");
    const outcome = await api.read({ path: path.slice(apiPath.length), query: url.searchParams });
    return respondOutcome(response, outcome);
  }

  /** The address without the token is the one that the browser keeps. A token that is none leads to the form. */
  function enter(request: IncomingMessage, response: ServerResponse, token: string): void {
    const cookie = admission.enter?.(request, token);
    if (cookie !== undefined) response.setHeader("set-cookie", cookie);
    redirect(response, cookie === undefined && admission.signsIn ? signInPath : base);
  }

  async function post(
    request: IncomingMessage,
    response: ServerResponse,
    { path, admitted: { operator, ended } }: { path: string; admitted: AdmittedOperator },
  ): Promise<void> {
    if (!hasContentType(request, "application/json"))
      return respondPlain(response, 415, "application/json is taken here.");
    const bytes = await readRequestBody({ request, maxBytes: maxBodyBytes });
    if (typeof bytes === "string") return respondPlain(response, 413, "That is too long.");
    // A body may take its time, and somebody may have signed out meanwhile.
    if (ended?.aborted) return respondPlain(response, 401, "The session has ended. Sign in again.");
    const body = parseJson(bytes);
    if (path === signInPath) return handleSignIn({ admission, request, response, body });
    if (path === `${base}sign-out` && admission.signOut !== undefined) {
      response.setHeader("set-cookie", admission.signOut(request));
      return respondJson(response, 200, {});
    }
    if (!path.startsWith(apiPath)) return respondPlain(response, 404, "There is nothing at this address.");
    return respondOutcome(response, await api.act({ path: path.slice(apiPath.length), body, operator }));
  }

  return {
    async handle(request, response) {
      const url = URL.parse(request.url ?? "", "http://page.invalid");
      if (url === null) return false;
      const isOurs = documentPaths.includes(url.pathname) || url.pathname.startsWith(base) || assets.has(url.pathname);
      if (isOurs) await answer(request, response, url);
      return isOurs;
    },
    close() {
      stream.close();
      live.close();
    },
  };
}

type Outcome = Awaited<ReturnType<ReturnType<typeof createApi>["read"]>>;

function respondOutcome(response: ServerResponse, outcome: Outcome): void {
  if (outcome === undefined) respondJson(response, 404, { words: "There is nothing at this address." });
  else if ("done" in outcome) respondJson(response, 200, outcome.done);
  else respondJson(response, outcome.refused.status, { words: outcome.refused.words });
}

/** A person is led to the form; whatever else asks reads why. */
function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  { path, refusal, signsIn }: { path: string; refusal: AdmissionRefusal; signsIn: boolean },
): void {
  const { status, words, retryAfterSeconds } = refusal;
  if (signsIn && status === 401 && request.method === "GET" && documentPaths.includes(path)) {
    redirect(response, signInPath);
    return;
  }
  if (retryAfterSeconds !== undefined) response.setHeader("retry-after", String(retryAfterSeconds));
  if (status === 401) response.setHeader("www-authenticate", "Bearer");
  if (path.startsWith(apiPath)) respondJson(response, status, { words });
  else respondPlain(response, status, words);
}

function respondAsset(response: ServerResponse, { type, text }: Asset): void {
  response.setHeader("content-security-policy", contentSecurityPolicy);
  response.writeHead(200, { ...commonHeaders, "content-type": type });
  response.end(text);
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(303, { ...commonHeaders, location });
  response.end();
}

function respondPlain(response: ServerResponse, status: number, words: string): void {
  response.writeHead(status, { ...commonHeaders, "content-type": "text/plain; charset=utf-8" });
  response.end(`${words}\n`);
}
