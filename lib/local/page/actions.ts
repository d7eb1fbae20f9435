/** The actions of a person on the page. The fake Slack's person does it, and each action becomes a signed request to the app. */

import { askAboutShortcut } from "@sekisho/verification/slack/api/manifest.ts";
import * as z from "zod";
import { workspace } from "../fake-slack/workspace.ts";
import { type RecordedSlack, recordPost, recordSignedRequest } from "../recorder/slack-steps.ts";
import { Refusal } from "../web/admission.ts";
import type { Handler, Routes } from "../web/site.ts";

const personSchema = z.string().default(workspace.person);
const messageSchema = z
  .object({
    text: z.string().trim().max(40_000),
    channel: z.string().default(workspace.channel.id),
    thread_ts: z.string().optional(),
    user: personSchema,
    file_ids: z.array(z.string()).max(10).default([]),
    /** A message that the person forwards. The text is the comment. */
    forward: z.object({ channel: z.string(), ts: z.string() }).optional(),
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
  channel: z.string(),
  ts: z.string(),
  action_id: z.string(),
  value: z.string().optional(),
  user: personSchema,
});
const directMessagesSchema = z.object({ user: personSchema });
const shortcutSchema = z.object({ channel: z.string(), ts: z.string(), user: personSchema });
const modalSchema = z.object({
  id: z.string(),
  filled_in: z.record(z.string(), z.union([z.string(), z.array(z.string())])).default({}),
});

const modalClickSchema = z.object({ id: z.string(), label: z.string() });

/** A slash command at the beginning of what somebody typed. */
const command = /^(\/[a-z0-9_-]+)(?:\s+|$)/;
/** A mention as somebody types it. In a thread it may be left out. */
const mention = /^@sekisho\b[,:]?\s*/i;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createActionRoutes({ fakeSlack, stepRecorder }: RecordedSlack): Routes {
  function post(body: z.output<typeof messageSchema>, eventsUrl: string): object {
    const { text, channel, thread_ts: threadTs, user, file_ids: fileIds, forward } = body;
    const [typedCommand, name] = forward === undefined ? (command.exec(text) ?? []) : [];
    if (
      typedCommand !== undefined &&
      name !== undefined &&
      threadTs === undefined &&
      fileIds.length === 0
    ) {
      const sentForm = fakeSlack.command({
        eventsUrl,
        command: name,
        text: text.slice(typedCommand.length),
        channel,
        user,
      });
      const step = {
        title: `Slack sent the command ${name}`,
        detail: { channel, user, command: name },
      };
      recordSignedRequest({ ...sentForm, ...step, stepRecorder });
      return { request_id: sentForm.requestId };
    }
    const unaddressed = text.replace(mention, "");
    const forwards = forward === undefined ? [] : [forward];
    const message = { eventsUrl, text: unaddressed, channel, user, fileIds, forwards };
    const isReply = threadTs !== undefined && unaddressed === text;
    const postedMessage = isReply
      ? fakeSlack.reply({ ...message, threadTs })
      : fakeSlack.ask({ ...message, threadTs });
    recordPost({ postedMessage, stepRecorder });
    return { request_id: postedMessage.requestId, ts: postedMessage.message.ts };
  }

  function postAlert(
    { channel, ...alert }: z.output<typeof alertSchema>,
    eventsUrl: string,
  ): object {
    return { ts: fakeSlack.postAlert({ eventsUrl, channel, alert }).message.ts };
  }

  function click(body: z.output<typeof clickSchema>, eventsUrl: string): object {
    const { channel, ts, action_id: actionId, value, user } = body;
    const { delivered, requestId } = fakeSlack.clickButton({
      eventsUrl,
      channel,
      ts,
      actionId,
      value,
      user,
    });
    if (requestId !== undefined) {
      const step = {
        title: "Slack sent a button click",
        detail: { channel, user, action_id: actionId },
      };
      recordSignedRequest({ requestId, delivered, ...step, stepRecorder });
    }
    return {};
  }

  function ask(body: z.output<typeof shortcutSchema>, eventsUrl: string): object {
    fakeSlack.useShortcut({ eventsUrl, ...body, callbackId: askAboutShortcut });
    return {};
  }

  async function submit(
    { id, filled_in: filledIn }: z.output<typeof modalSchema>,
    eventsUrl: string,
  ): Promise<object> {
    const { status, errors } = await fakeSlack.submitModal({ eventsUrl, id, filledIn });
    if (status !== 200) throw new Refusal(502, "We had some trouble connecting. Try again.");
    return { errors };
  }

  function clickInModal(
    { id, label }: z.output<typeof modalClickSchema>,
    eventsUrl: string,
  ): object {
    fakeSlack.clickModalButton({ eventsUrl, id, label });
    return {};
  }

  function close({ id }: z.output<typeof modalSchema>): object {
    fakeSlack.closeModal(id);
    return {};
  }

  function openDirectMessages(
    { user }: z.output<typeof directMessagesSchema>,
    eventsUrl: string,
  ): object {
    fakeSlack.openHome({ eventsUrl, user, tab: "messages" });
    return {};
  }

  const noThread = "This channel or thread does not exist.";
  const noButton = "The message no longer has this button.";
  const noModal = "This dialog is no longer open.";
  const noAlert =
    "Enter a title, a text and at most 20 fields of up to 3,000 characters, and choose a channel.";
  const noText = "Enter a message of 1 to 40,000 characters.";
  return {
    "POST /local/messages": action({
      schema: messageSchema,
      invalid: noText,
      impossible: noThread,
      run: post,
    }),
    "POST /local/alerts": action({
      schema: alertSchema,
      invalid: noAlert,
      impossible: noAlert,
      run: postAlert,
    }),
    "POST /local/clicks": action({
      schema: clickSchema,
      invalid: noButton,
      impossible: noButton,
      run: click,
    }),
    "POST /local/shortcuts": action({
      schema: shortcutSchema,
      invalid: noThread,
      impossible: noThread,
      run: ask,
    }),
    "POST /local/modals": action({
      schema: modalSchema,
      invalid: noModal,
      impossible: noModal,
      run: submit,
    }),
    "POST /local/modals/clicks": action({
      schema: modalClickSchema,
      invalid: noModal,
      impossible: noModal,
      run: clickInModal,
    }),
    "POST /local/modals/close": action({
      schema: modalSchema,
      invalid: noModal,
      impossible: noModal,
      run: close,
    }),
    "POST /local/direct-messages": action({
      ...{ schema: directMessagesSchema, invalid: noThread, impossible: noThread },
      run: openDirectMessages,
    }),
  };
}

type Action<Schema extends z.ZodType> = {
  schema: Schema;
  invalid: string;
  impossible: string;
  run: (body: z.output<Schema>, eventsUrl: string) => object | Promise<object>;
};

/** `impossible` is the message if the fake Slack throws, because it has no such channel, thread or button. */
function action<Schema extends z.ZodType>({
  schema,
  invalid,
  impossible,
  run,
}: Action<Schema>): Handler {
  return async ({ request, json }) => {
    const body = schema.safeParse(await json());
    if (!body.success) throw new Refusal(400, invalid);
    try {
      return await run(body.data, `http://127.0.0.1:${request.socket.localPort}/slack/events`);
    } catch (error) {
      throw error instanceof Refusal ? error : new Refusal(400, impossible);
    }
  };
}
