/** Further methods of Slack: streams, files, direct messages, ephemeral messages. */
import { setTimeout as wait } from "node:timers/promises";
import { type SlackApi, SlackError } from "@sekisho/verification/slack/api/slack.ts";
import { currentProcess } from "./processes.ts";
import { teamOf } from "./settings.ts";
import type { At, NewPost, Post } from "./sim-slack.ts";
import { requirePiece } from "./slack-limits.ts";
import { worldMs } from "./virtual-time.ts";
import type { World } from "./world.ts";

type Extras = Omit<SlackApi, "post" | "update" | "remove" | "react" | "replies" | "posts">;

export function createSimSlackExtras({
  world,
  at,
  add,
  find,
}: {
  world: World;
  at: At;
  add: (post: NewPost) => Post;
  find: (ts: string) => Post;
}): Extras {
  // The files of a recorded moment have lower numbers.
  let files = world.from === undefined ? 0 : 40;
  /** Whose bytes have come. */
  const uploaded = new Set<string>();

  function noteLookup(what: string): void {
    world.lookups.push({ what, process: currentProcess(), atMs: worldMs() });
  }

  function refuseLookup(toError: () => SlackError): void {
    if (world.story.hasNoNames) throw toError();
  }

  function open(ts: string): Post {
    const post = find(ts);
    if (post.isStopped) throw new SlackError("refused", { slackError: "stopped_by_user" });
    if (!post.streams) throw new SlackError("no_such_message");
    return post;
  }

  return {
    startStream: ({ channel, threadTs, markdown, requestId, signal }) =>
      at({
        point: "slack.stream",
        about: () => `stream of ${world.names.of(requestId)}`,
        signal,
        effect() {
          requirePiece(markdown);
          world.streamedAtMs.push(worldMs());
          return {
            ts: add({ channel, threadTs, key: undefined, text: markdown, streams: true }).ts,
          };
        },
      }),
    appendStream: ({ ts, markdown, requestId, signal }) =>
      at({
        point: "slack.update",
        about: () => `stream of ${world.names.of(requestId)} grows`,
        signal,
        effect() {
          requirePiece(markdown);
          open(ts).text += markdown;
          world.streamedAtMs.push(worldMs());
        },
      }),
    stopStream: ({ ts, requestId, signal }) =>
      at({
        point: "slack.update",
        about: () => `stream of ${world.names.of(requestId)} stops`,
        signal,
        effect() {
          const post = find(ts);
          if (post.isStopped) throw new SlackError("refused", { slackError: "stopped_by_user" });
          post.streams = false;
        },
      }),

    fileInfo: () =>
      Promise.reject(new Error("not used: files on their way in have a double of their own")),
    canvasContent: () =>
      Promise.reject(new Error("not used: files on their way in have a double of their own")),
    startUpload: ({ name, requestId, signal }) =>
      at({
        point: "slack.upload",
        about: () => `${name} of ${world.names.of(requestId)}`,
        signal,
        effect() {
          files += 1;
          return { fileId: `F${files}`, url: `https://files.slack.com/upload/F${files}` };
        },
      }),
    sendUpload: ({ url, requestId, signal }) =>
      at({
        point: "slack.upload",
        about: () => `bytes for ${world.names.of(requestId)}`,
        signal,
        effect: () => void uploaded.add(url.slice(-2)),
      }),
    shareUploads: ({ channel, threadTs, files: shared, requestId, signal }) =>
      at({
        point: "slack.post",
        about: () => `files of ${world.names.of(requestId)}`,
        signal,
        effect: () =>
          void add({
            channel,
            threadTs,
            key: undefined,
            fileIds: shared.map(({ fileId }) => fileId),
          }),
      }),

    message: ({ channel, ts, signal }) =>
      at({
        point: "slack.replies",
        about: () => `message ${ts}`,
        signal,
        effect() {
          const said = world.said.find((each) => each.channel === channel && each.ts === ts);
          return said && { text: said.text, files: [] };
        },
      }),
    channelInfo: ({ channel, signal }) =>
      at({
        point: "slack.replies",
        about: () => `what ${channel} is`,
        signal,
        async effect() {
          noteLookup(channel);
          // Longer than a task waits. In the end Slack has no answer.
          if (world.story.hasNoNames) await wait(9000);
          refuseLookup(() => new SlackError("unavailable"));
          return { hasBot: true, isShared: false };
        },
      }),
    openModal: ({ triggerId, view, signal }) =>
      at({
        point: "slack.modal",
        about: () => `modal of ${triggerId}`,
        signal,
        effect: () => world.modals.open({ triggerId, view, atMs: worldMs() }),
      }),

    postEphemeral: ({ user, signal }) =>
      at({
        point: "slack.react",
        about: () => `whisper to ${user}`,
        signal,
        effect: () => void world.ephemeralMessages.push({ user, atMs: worldMs() }),
      }),
    openDirect: ({ user, signal }) =>
      at({
        point: "slack.replies",
        about: () => user,
        signal,
        effect: () => ({ channel: `D${user.slice(1)}` }),
      }),
    publishHome: ({ user, blocks, signal }) =>
      at({
        point: "slack.react",
        about: () => `home of ${user}`,
        signal,
        effect: () => void world.homes.set(user, blocks),
      }),
    person: ({ user, signal }) =>
      at({
        point: "slack.replies",
        about: () => user,
        signal,
        effect() {
          noteLookup("people");
          refuseLookup(() => new SlackError("refused", { slackError: "missing_scope" }));
          return { locale: undefined, workspaces: [teamOf(user)], organization: undefined };
        },
      }),
    groupMembers: ({ group, signal }) =>
      at({ point: "slack.replies", about: () => group, signal, effect: (): string[] => [] }),
    groupHandles: ({ signal }) =>
      at({
        point: "slack.replies",
        about: () => "groups",
        signal,
        effect() {
          noteLookup("groups");
          refuseLookup(() => new SlackError("rate_limited", { retryAfterMs: 30_000 }));
          return new Map<string, string>();
        },
      }),
    channelMembers: ({ channel, signal }) =>
      at({
        point: "slack.replies",
        about: () => `people in ${channel}`,
        signal,
        effect: (): string[] => [],
      }),
    setStatus: ({ status, signal }) =>
      at({ point: "slack.react", about: () => `status ${status}`, signal, effect: () => {} }),
    setSession({ channel, threadTs, status, title, signal }) {
      const thread = `${channel}/${threadTs}`;
      const before = world.sessions.get(thread) ?? { calls: 0, lastTaken: 0 };
      const call = before.calls + 1;
      world.sessions.set(thread, { ...before, calls: call });
      return at({
        point: "slack.react",
        about: () => `session ${status}`,
        signal,
        effect() {
          const { calls = 0, lastTaken = 0 } = world.sessions.get(thread) ?? {};
          world.sessions.set(thread, { status, calls, lastTaken: Math.max(lastTaken, call) });
          return { title };
        },
      });
    },
    renameSession: ({ signal }) =>
      at({ point: "slack.react", about: () => "rename", signal, effect: () => {} }),
    suggestPrompts: ({ signal }) =>
      at({ point: "slack.react", about: () => "prompts", signal, effect: () => {} }),
  };
}
