/** The operators' page: its documents, what it reads, and what it does. */
import { uuidPattern } from "@sekisho/contracts/envelope.ts";
import { type Admission, Refusal } from "@sekisho/local/web/admission.ts";
import { createEventStreams } from "@sekisho/local/web/event-streams.ts";
import { appDocument, clientRoutes } from "@sekisho/local/web/files.ts";
import type {
  DeadLettersView,
  DestinationsView,
  RedriveResult,
  Where,
} from "@sekisho/local/web/operators-api.ts";
import {
  createSite,
  type Handler,
  type Routes,
  redirect,
  type Site,
} from "@sekisho/local/web/site.ts";
import { EngineFileError, toFileError } from "@sekisho/runtime/engine/sqlite/file-error.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import * as z from "zod";
import { AwsFailure } from "../aws/aws-failure.ts";
import { NoSuchTask } from "../tasks/find-task.ts";
import { createLiveTasks } from "./live-tasks.ts";
import type { ConsoleSource } from "./open-source.ts";
import { createTaskRoutes } from "./task-routes.ts";

export type OperatorsPage = Site & {
  /** Ends open streams, so that a server can close. */
  close(): void;
};

const home = "/operate/";
const signInPath = `${home}sign-in`;
/** An open list must ask for admission again after this time. Its token may have been revoked. */
const streamMs = 5 * 60_000;

const signInSchema = z.object({ token: z.string().trim().min(1).max(8192) });
const checkSchema = z.object({ names: z.array(z.string().max(64)).max(100).optional() });
const redriveSchema = z.union([
  z.object({ all: z.literal(true) }),
  z.object({ requestIds: z.array(z.string().regex(uuidPattern)).min(1).max(1000) }),
]);

type PageOptions = {
  source: ConsoleSource;
  admission: Admission;
  /** The address of the local page, if the same server has it. */
  localPage?: string | undefined;
  pollMs?: number | undefined;
  log: Log;
};

export function createOperatorsPage({
  source,
  admission,
  localPage,
  pollMs,
  log,
}: PageOptions): OperatorsPage {
  const { zone, health, deadLetters } = source;
  const { signIn, signOut } = admission;
  const form = appDocument({ page: "sign-in", title: "Sign in · Sekisho operators" });
  const explain = createExplain({ log });
  const live = createLiveTasks({ zone, explain, ...(pollMs !== undefined && { pollMs }) });
  const streams = createEventStreams();

  const api: Routes = {
    "GET where": (): Where => ({
      name: source.name,
      signsIn: signIn !== undefined,
      localPage,
    }),
    "GET live": (exchange) => streams.open(exchange, { watch: live.watch, endsInMs: streamMs }),
    "GET destinations": (): Promise<DestinationsView> => health.view(),
    "POST destinations/check": async ({ json }): Promise<DestinationsView> => {
      const wrong = "Give the names of destinations, or none to check all.";
      await health.check(parseBody(checkSchema, await json(), wrong).names);
      return health.view();
    },
    "GET dead-letters": (): Promise<DeadLettersView> => deadLetters.view(),
    "POST dead-letters/redrive": async ({
      json,
      visitor: { operator },
    }): Promise<RedriveResult> => {
      const body = parseBody(redriveSchema, await json(), "Give request IDs, or all: true.");
      const redriven = await deadLetters.redrive("all" in body ? undefined : body.requestIds);
      for (const { requestId } of redriven)
        log.info("operator_asked", { operation: "redrive", request_id: requestId, operator });
      return { redriven };
    },
    ...createTaskRoutes({ source, log }),
  };

  const site = createSite({
    home,
    signInPath,
    isOwn: (address) => address === "/" || /^\/(operate|web)(\/|$)/.test(address),
    admission,
    openRoutes: {
      ...clientRoutes(),
      [`GET ${signInPath}`]: (exchange) =>
        signIn === undefined ? redirect(exchange.response, home) : form(exchange),
      // From then on the browser sends the token's session as a cookie that no script can read.
      [`POST ${signInPath}`]: async ({ request, response, json }) => {
        const body = await json();
        if (signIn === undefined) throw new Refusal(404, "This page has no sign-in.");
        const { token } = parseBody(signInSchema, body, "Enter a token.");
        response.setHeader("set-cookie", await signIn(request, token));
        return {};
      },
    },
    routes: {
      "GET /": ({ response }) => redirect(response, home),
      "GET /operate": ({ response }) => redirect(response, home),
      [`GET ${home}`]: appDocument({ page: "operators", title: "Sekisho operators" }),
      ...(signOut && {
        [`POST ${home}sign-out`]: async ({ request, response, json }) => {
          await json();
          response.setHeader("set-cookie", signOut(request));
          return {};
        },
      }),
      ...Object.fromEntries(
        Object.entries(api).map(([name, handler]) => [
          name.replace(" ", ` ${home}api/`),
          explainErrors(handler, explain),
        ]),
      ),
    },
  });

  return {
    ...site,
    close() {
      streams.close();
      live.close();
    },
  };
}

function parseBody<T>(schema: z.ZodType<T>, body: unknown, message: string): T {
  const { data } = schema.safeParse(body);
  if (data === undefined) throw new Refusal(400, message);
  return data;
}

type Explain = (error: unknown) => string;

/**
 * Returns a message for a person. Only errors of our own classes show their message. Others are logged, and repetitions of the same
 * kind are not.
 */
function createExplain({ log }: { log: Log }): Explain {
  const forPeople = [AwsFailure, EngineFileError, NoSuchTask];
  let last: string | undefined;
  return (error) => {
    const failure = toFileError({ error, file: "The task file" }) ?? error;
    if (failure instanceof Error && forPeople.some((kind) => failure instanceof kind))
      return failure.message;
    const cause = errorKind(failure);
    if (cause !== last) log.warn("operator_page_failed", { cause_kind: cause });
    last = cause;
    return "That cannot be read or done right now. See the page's log, in the terminal where it was started.";
  };
}

function explainErrors(handler: Handler, explain: Explain): Handler {
  return async (exchange) => {
    try {
      return await handler(exchange);
    } catch (error) {
      if (error instanceof Refusal) throw error;
      throw new Refusal(error instanceof NoSuchTask ? 404 : 502, explain(error));
    }
  };
}
