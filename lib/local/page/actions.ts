/** The actions of a person on the page. The fake Slack's person does it, and each action becomes a signed request to the app. */

import { askAboutShortcut } from "@sekisho/verification/slack/api/manifest.ts";
import * as z from "zod";
import { workspace } from "../fake-slack/workspace.ts";
import { type RecordedSlack, recordPost, recordSignedRequest } from "../recorder/slack-steps.ts";
import { Refusal } from "../web/admission.ts";
import type { Handler, Routes } from "../web/site.ts";

const user = z.string().default(workspace.person);
const reference = { channel: z.string(), ts: z.string() };
const messageSchema = z
  .object({
    text: z.string().trim().max(40_000),
    channel: z.string().default(workspace.channel.id),
    thread_ts: z.string().optional(),
    user,
    file_ids: z.array(z.string()).max(10).default([]),
    /** A message that the person forwards. The text is the comment. */
    forward: z.object(reference).optional(),
  })
  .refine(
    ({ text, file_ids, forward }) => text !== "" || file_ids.length > 0 || forward !== undefined,
  );
const alertText = z.string().trim().min(1).max(3000);
const alertSchema = z.object({
  channel: z.string(),
  title: alertText,
  text: alertText,
  color: z.enum(["danger", "warning", "good"]),
  fields: z
    .array(z.object({ title: alertText, value: z.string().trim().max(3000) }))
    .max(20)
    .default([]),
});
const clickSchema = z.object({
  ...reference,
  action_id: z.string(),
  value: z.string().optional(),
  user,
});
const modalSchema = z.object({
  id: z.string(),
  filled_in: z.record(z.string(), z.union([z.string(), z.array(z.string())])).default({}),
});

const noThread = "This channel or thread does not exist.";
const noModal = "This dialog is no longer open.";

export function createActionRoutes(slack: RecordedSlack): Routes {
  const { fakeSlack } = slack;
  return {
    "POST /local/messages": action({
      schema: messageSchema,
      invalid: "Enter a message of 1 to 40,000 characters.",
      impossible: noThread,
      run: (body, eventsUrl) => sendMessage(slack, body, eventsUrl),
    }),
    "POST /local/alerts": action({
      schema: alertSchema,
      impossible:
        "Enter a title, a text and at most 20 fields of up to 3,000 characters, and choose a channel.",
      run: ({ channel, ...alert }, eventsUrl) => {
        return { ts: fakeSlack.postAlert({ eventsUrl, channel, alert }).message.ts };
      },
    }),
    "POST /local/clicks": action({
      schema: clickSchema,
      impossible: "The message no longer has this button.",
      run: (body, eventsUrl) => click(slack, body, eventsUrl),
    }),
    "POST /local/shortcuts": action({
      schema: z.object({ ...reference, user }),
      impossible: noThread,
      run: (body, eventsUrl) =>
        void fakeSlack.useShortcut({ eventsUrl, ...body, callbackId: askAboutShortcut }),
    }),
    "POST /local/modals": action({
      schema: modalSchema,
      impossible: noModal,
      async run({ id, filled_in: filledIn }, eventsUrl) {
        const { status, errors } = await fakeSlack.submitModal({ eventsUrl, id, filledIn });
        if (status !== 200) throw new Refusal(502, "We had some trouble connecting. Try again.");
        return { errors };
      },
    }),
    "POST /local/modals/clicks": action({
      schema: z.object({ id: z.string(), label: z.string() }),
      impossible: noModal,
      run: (body, eventsUrl) => void fakeSlack.clickModalButton({ eventsUrl, ...body }),
    }),
    "POST /local/modals/close": action({
      schema: modalSchema,
      impossible: noModal,
      run: ({ id }) => fakeSlack.closeModal(id),
    }),
    "POST /local/direct-messages": action({
      schema: z.object({ user }),
      impossible: noThread,
      run: (body, eventsUrl) => void fakeSlack.openHome({ eventsUrl, ...body, tab: "messages" }),
    }),
  };
}

/** A slash command at the beginning of what somebody typed. */
const commandPattern = /^(\/[a-z0-9_-]+)(?:\s+|$)/;
/** A mention as somebody types it. In a thread it may be left out. */
const mention = /^@sekisho\b[,:]?\s*/i;

function sendMessage(
  { fakeSlack, stepRecorder }: RecordedSlack,
  body: z.output<typeof messageSchema>,
  eventsUrl: string,
): object {
  const { text, thread_ts: threadTs, file_ids: fileIds, forward, ...author } = body;
  const isPlain = threadTs === undefined && fileIds.length === 0 && forward === undefined;
  const [typedCommand, command] = isPlain ? (commandPattern.exec(text) ?? []) : [];
  if (typedCommand !== undefined && command !== undefined) {
    const commandText = text.slice(typedCommand.length);
    const sentForm = fakeSlack.command({ eventsUrl, command, text: commandText, ...author });
    const title = `Slack sent the command ${command}`;
    recordSignedRequest({ ...sentForm, title, detail: { ...author, command }, stepRecorder });
    return { request_id: sentForm.requestId };
  }
  const unaddressed = text.replace(mention, "");
  const forwards = forward === undefined ? [] : [forward];
  const message = { eventsUrl, text: unaddressed, ...author, fileIds, forwards };
  const isReply = threadTs !== undefined && unaddressed === text;
  const postedMessage = isReply
    ? fakeSlack.reply({ ...message, threadTs })
    : fakeSlack.ask({ ...message, threadTs });
  recordPost({ postedMessage, stepRecorder });
  return { request_id: postedMessage.requestId, ts: postedMessage.message.ts };
}

function click(
  { fakeSlack, stepRecorder }: RecordedSlack,
  { action_id: actionId, ...body }: z.output<typeof clickSchema>,
  eventsUrl: string,
): void {
  const { requestId, delivered } = fakeSlack.clickButton({ eventsUrl, actionId, ...body });
  if (requestId === undefined) return;
  const detail = { channel: body.channel, user: body.user, action_id: actionId };
  const title = "Slack sent a button click";
  recordSignedRequest({ requestId, delivered, title, detail, stepRecorder });
}

type Action<Schema extends z.ZodType> = {
  schema: Schema;
  /** For the person if the fake Slack throws, because it has no such channel, thread or button. */
  impossible: string;
  /** The same if the body is malformed. */
  invalid?: string;
  /** The result is the answer's JSON. */
  run: (body: z.output<Schema>, eventsUrl: string) => unknown;
};

function action<Schema extends z.ZodType>(options: Action<Schema>): Handler {
  const { schema, impossible, invalid = impossible, run } = options;
  return async ({ request, json }) => {
    const body = schema.safeParse(await json());
    if (!body.success) throw new Refusal(400, invalid);
    const eventsUrl = `http://127.0.0.1:${request.socket.localPort}/slack/events`;
    try {
      return (await run(body.data, eventsUrl)) ?? {};
    } catch (error) {
      throw error instanceof Refusal ? error : new Refusal(400, impossible);
    }
  };
}
