/** The simulated Slack: posts may be late, doubled, or made without anybody hearing of it. */
import { setTimeout as wait } from "node:timers/promises";
import type { PostKey } from "@sekisho/verification/slack/api/post-keys.ts";
import {
  type ModalView,
  type SlackApi,
  SlackError,
} from "@sekisho/verification/slack/api/slack.ts";
import {
  createMemorySlack,
  type OperateSlack,
  type Post,
  type SlackCall,
} from "../world/memory-slack.ts";
import { refusal } from "../world/slack-limits.ts";
import type { Point } from "./faults.ts";
import { operate, type Times } from "./operate.ts";
import { currentProcess, type Process } from "./processes.ts";
import { teamOf, workspace } from "./settings.ts";
import { chance, worldMs } from "./virtual-time.ts";
import type { World } from "./world.ts";

/** A call is given up after 10 s; a post that timed out lands within a minute of that or never. */
const times: Times = { usualMs: 120, giveUpMs: 10_000, landMs: 70_000 };
const quietRetryAfterMs = 30_000;
const maxRetryAfterMs = 90_000;

/** Channels in which nobody may post any more. */
const stillPossible: readonly Point[] = ["slack.remove", "slack.replies"];

/** `gone`: nobody can post; `shut`: nor read or remove. */
export type SimSlack = {
  api: SlackApi;
  posts: Post[];
  count: () => number;
  gone: () => boolean;
  shut: () => boolean;
  /** A person did something that a modal may follow. */
  issueTrigger: (triggerId: string) => void;
  findModal: (triggerId: string) => ModalView | undefined;
};

type Method = keyof SlackApi;
type Request<M extends Method> = Parameters<SlackApi[M]>[0];
type Result<M extends Method> = Awaited<ReturnType<SlackApi[M]>>;
/** Where a call meets its fault, and its subject. */
type Descriptions = {
  [M in Method]: readonly [point: Point, about: (request: Request<M>) => string];
};

export function createSimSlack({ world }: { world: World }): SimSlack {
  let count = world.from?.slack.count ?? 0;
  let isGone = false;
  let isShut = false;
  const triggersMs = new Map<string, number>();
  /** Blocks that Slack did not take once. */
  const refusedBlocks = new Set<string>();
  /** When each process was last shown a thread. */
  const lastReadMs = new Map<Process, number>();
  const { posts, modals, api } = createMemorySlack({
    now: worldMs,
    newTs: () => tsOf({ atMs: worldMs(), count: ++count }),
    botUser: workspace.bot,
    posts: structuredClone([...(world.from?.slack.posts ?? [])]),
    // The files of a recorded moment have lower numbers.
    files: world.from === undefined ? 0 : 40,
    foreignMessages: () => world.said,
    teamOf,
    triggerAgeMs: (triggerId) =>
      worldMs() - (triggersMs.get(triggerId) ?? Number.NEGATIVE_INFINITY),
    refuses: ({ blocks }) =>
      refusedBlocks.size > 0 && blocks !== undefined && refusedBlocks.has(JSON.stringify(blocks)),
    isLate: () => currentProcess() === undefined,
    onPost({ key }, samePost) {
      if (key.kind !== "placeholder" && samePost !== undefined && isAvoidable(samePost))
        world.doubled.push(`${key.kind} ${key.index} of ${key.requestId}`);
      if (key.kind === "question" && !world.questionsShownAtMs.has(key.requestId))
        world.questionsShownAtMs.set(key.requestId, worldMs());
    },
  });

  /**
   * Whether a part that stands there already did not need to be posted. What lands late, or twice at once, is Slack's doing;
   * nobody can know what landed late since the poster looked.
   */
  function isAvoidable(samePost: Post): boolean {
    const process = currentProcess();
    if (process === undefined || samePost.atMs === worldMs()) return false;
    const readMs = lastReadMs.get(process) ?? Number.POSITIVE_INFINITY;
    return !(samePost.isLate && samePost.atMs > readMs);
  }

  function partName({ kind, index, requestId }: PostKey): string {
    return `${kind} ${index} of ${world.names.of(requestId)}`;
  }

  function postName(ts: string): string {
    const post = posts.find((candidate) => candidate.ts === ts);
    if (post === undefined) return world.names.of(ts);
    if (post.key !== undefined) return partName(post.key);
    return post.fileIds.length > 0 ? "files" : "stream";
  }

  const nameOf = ({ requestId }: { requestId: string }) => world.names.of(requestId);
  const descriptions: Descriptions = {
    post: ["slack.post", ({ key }) => partName(key)],
    update: ["slack.update", ({ key }) => partName(key)],
    remove: ["slack.remove", ({ ts }) => postName(ts)],
    react: [
      "slack.react",
      ({ present, name, ts }) => `${present ? "+" : "-"}${name} on ${postName(ts)}`,
    ],
    replies: ["slack.replies", (request) => `thread for ${nameOf(request)}`],
    posts: ["slack.replies", (request) => `channel for ${nameOf(request)}`],
    message: ["slack.replies", ({ ts }) => `message ${ts}`],
    channelInfo: ["slack.replies", ({ channel }) => `what ${channel} is`],
    channelMembers: ["slack.replies", ({ channel }) => `people in ${channel}`],
    person: ["slack.replies", ({ user }) => user],
    groupMembers: ["slack.replies", ({ group }) => group],
    groupHandles: ["slack.replies", () => "groups"],
    openDirect: ["slack.replies", ({ user }) => user],
    openModal: ["slack.modal", ({ triggerId }) => `modal of ${triggerId}`],
    postEphemeral: ["slack.react", ({ user }) => `whisper to ${user}`],
    publishHome: ["slack.react", ({ user }) => `home of ${user}`],
    startStream: ["slack.stream", (request) => `stream of ${nameOf(request)}`],
    appendStream: ["slack.update", (request) => `stream of ${nameOf(request)} grows`],
    stopStream: ["slack.update", (request) => `stream of ${nameOf(request)} stops`],
    fileInfo: ["slack.upload", ({ file }) => file],
    canvasContent: ["slack.upload", ({ canvas }) => canvas],
    startUpload: ["slack.upload", (request) => `${request.name} of ${nameOf(request)}`],
    sendUpload: ["slack.upload", (request) => `bytes for ${nameOf(request)}`],
    shareUploads: ["slack.post", (request) => `files of ${nameOf(request)}`],
    setStatus: ["slack.react", ({ status }) => `status ${status}`],
    setSession: ["slack.react", ({ status }) => `session ${status}`],
    renameSession: ["slack.react", () => "rename"],
    suggestPrompts: ["slack.react", () => "prompts"],
  };

  const observe = createObserver({ world, lastReadMs });
  const failures = {
    unknown: () => new SlackError("ambiguous"),
    gone() {
      isGone = true;
      isShut = world.isRestless && chance() < 0.5;
      return new SlackError("gone");
    },
    limited: () =>
      new SlackError("rate_limited", {
        retryAfterMs: world.isRestless ? Math.ceil(chance() * maxRetryAfterMs) : quietRetryAfterMs,
      }),
  };

  const operateCall: OperateSlack = (call) => {
    const { method, request } = call;
    const [point, about] = descriptions[method];
    const isRefusing = () => isShut || (isGone && !stillPossible.includes(point));
    const runObserved = observe(call);
    const effect = () => {
      if (isRefusing()) throw new SlackError("gone");
      return runObserved();
    };
    const blocks = "content" in request && request.content.blocks?.length && request.content.blocks;
    const blocksRefused = () => {
      refusedBlocks.add(JSON.stringify(blocks));
      return refusal("invalid_blocks");
    };
    return operate({
      ...{ world, point, about: () => about(request), times, signal: request.signal, effect },
      detail: () => (method === "update" || method === "remove" ? `at ${Object(request).ts}` : ""),
      failures: {
        ...failures,
        refused: () => new SlackError(isRefusing() ? "gone" : "unavailable"),
        blocksRefused: blocks ? blocksRefused : undefined,
      },
    });
  };

  return {
    posts,
    count: () => count,
    gone: () => isGone,
    shut: () => isShut,
    issueTrigger: (triggerId) => void triggersMs.set(triggerId, worldMs()),
    findModal: (triggerId) => modals.find((modal) => modal.triggerId === triggerId)?.view,
    api: api(operateCall),
  };
}

/** Slack's own time, which also orders what was written within a millisecond. */
export function tsOf({ atMs, count }: { atMs: number; count: number }): string {
  const seconds = Math.floor(atMs / 1000);
  const millis = String(Math.floor(atMs) % 1000).padStart(3, "0");
  return `${seconds}.${millis}${String(count % 1000).padStart(3, "0")}`;
}

/** Notes what the world sees of a call. In a story without names, Slack does not tell them. */
function createObserver({
  world,
  lastReadMs,
}: {
  world: World;
  lastReadMs: Map<Process, number>;
}): <M extends Method>(call: SlackCall<M>) => () => Result<M> | Promise<Result<M>> {
  const { story, sessions } = world;
  const sessionCalls = new WeakMap<object, number>();
  const sessionOf = ({ channel, threadTs }: { channel: string; threadTs: string }) => {
    const thread = `${channel}/${threadTs}`;
    return { thread, session: sessions.get(thread) ?? { calls: 0, lastTaken: 0 } };
  };
  const lookUp = (what: string, toError: () => SlackError) => {
    world.lookups.push({ what, process: currentProcess(), atMs: worldMs() });
    if (story.hasNoNames) throw toError();
  };
  const noteRead = () => {
    const process = currentProcess();
    if (process !== undefined) lastReadMs.set(process, worldMs());
  };
  const noteStream = () => void world.streamedAtMs.push(worldMs());

  const beforeEffect: { [M in Method]?: (request: Request<M>) => void } = {
    person: () =>
      lookUp("people", () => new SlackError("refused", { slackError: "missing_scope" })),
    groupHandles: () =>
      lookUp("groups", () => new SlackError("rate_limited", { retryAfterMs: 30_000 })),
  };
  const afterEffect: { [M in Method]?: (request: Request<M>) => void } = {
    replies: noteRead,
    posts: noteRead,
    startStream: noteStream,
    appendStream: noteStream,
    postEphemeral: ({ user }) => void world.ephemeralMessages.push({ user, atMs: worldMs() }),
    publishHome: ({ user, blocks }) => void world.homes.set(user, blocks),
    setSession(request) {
      const { thread, session } = sessionOf(request);
      const lastTaken = Math.max(session.lastTaken, sessionCalls.get(request) ?? 0);
      sessions.set(thread, { ...session, status: request.status, lastTaken });
    },
  };

  /** Longer than a task waits. In the end Slack has no answer. */
  async function describeNoChannel(): Promise<never> {
    await wait(9000);
    throw new SlackError("unavailable");
  }

  return ({ method, request, effect }) => {
    if (method === "setSession") {
      const { thread, session } = sessionOf(Object(request));
      const calls = session.calls + 1;
      sessionCalls.set(request, calls);
      sessions.set(thread, { ...session, calls });
    }
    return () => {
      if (method === "channelInfo") {
        world.lookups.push({
          what: Object(request).channel,
          process: currentProcess(),
          atMs: worldMs(),
        });
        if (story.hasNoNames) return describeNoChannel();
      }
      beforeEffect[method]?.(request);
      const result = effect();
      afterEffect[method]?.(request);
      return result;
    };
  };
}
