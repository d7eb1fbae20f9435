/**
 * Reads a submitted modal (https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload) and a use of the message
 * shortcut (https://docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload).
 */
import * as z from "zod/mini";
import { askAboutShortcut } from "../slack/api/manifest.ts";
import { boundedText, readUserText, slackId } from "../slack/api/user-text.ts";
import {
  questionModal,
  readAskAboutModal,
  readFieldInputs,
  readInstruction,
  readQuestionModal,
  type SubmittedView,
} from "../slack/messages/modal-values.ts";
import type { FormSubmitted, ShortcutUsed, UserMessage } from "../task/messages.ts";
import { interactionIdOf } from "../task/routing.ts";
import { installationFields, slackTs } from "./event-callback.ts";

/** The fields of every interaction by which Slack names the installation and the person. */
const whoseSchema = {
  is_enterprise_install: z.nullish(z.boolean()),
  enterprise: z.nullish(z.object({ id: slackId })),
  /** Null if the app is installed in the organization. */
  team: z.nullish(z.object({ id: slackId })),
  user: z.object({ id: slackId, team_id: z.nullish(slackId) }),
};

type Whose = {
  is_enterprise_install?: boolean | null | undefined;
  enterprise?: { id: string } | null | undefined;
  team?: { id: string } | null | undefined;
  user: { id: string; team_id?: string | null | undefined };
};

/** Undefined if Slack names no workspace. `installed` is the installation of a view that was opened in a shared channel. */
function readPerson(
  { is_enterprise_install, enterprise, team, user }: Whose,
  installedTeam?: string | null,
) {
  // For a view of an organization's app, it is the organization.
  const workspace = installedTeam?.startsWith("T") ? installedTeam : (team?.id ?? user.team_id);
  if (!workspace) return undefined;
  const installation = installationFields(
    workspace,
    is_enterprise_install ? enterprise?.id : undefined,
  );
  return { installation, user: user.id, ...(user.team_id ? { userTeam: user.team_id } : {}) };
}

const submissionSchema = z.object({
  type: z.literal("view_submission"),
  ...whoseSchema,
  api_app_id: slackId,
  view: z.object({
    id: slackId,
    /** `team` of the payload may be the person's workspace instead. */
    app_installed_team_id: z.nullish(slackId),
    callback_id: z.string(),
    private_metadata: boundedText(3000),
    blocks: z.array(z.unknown()),
    state: z.object({ values: z.looseObject({}) }),
  }),
});

/** `errors` are shown in the modal, one sentence below each input by its `block_id`. */
export type ReadModal =
  | { message: FormSubmitted }
  | { ask: { requestId: string; userMessage: UserMessage } }
  | { errors: Record<string, string> };

/** Undefined for a modal that is not ours. */
export function readSubmittedModal(payload: unknown, nowMs: number): ReadModal | undefined {
  const { data } = submissionSchema.safeParse(payload);
  const person = data && readPerson(data, data.view.app_installed_team_id);
  if (data === undefined || person === undefined) return undefined;
  const { id, callback_id, private_metadata, blocks, state } = data.view;
  const view = { private_metadata, blocks, values: state.values };
  const submissionId = interactionIdOf({
    kind: "modal",
    appId: data.api_app_id,
    channel: "",
    ts: id,
  });
  if (callback_id === questionModal) return readAnswer(view, { ...person, submissionId, nowMs });
  return callback_id === askAboutShortcut
    ? readAskAbout(view, { ...person, submissionId, appId: data.api_app_id })
    : undefined;
}

type Person = NonNullable<ReturnType<typeof readPerson>> & { submissionId: string };

function readAnswer(
  view: SubmittedView,
  sender: Person & { nowMs: number },
): ReadModal | undefined {
  const modal = readQuestionModal(view);
  if (modal === undefined) return undefined;
  const { requestId, question, locale } = modal;
  const fieldInputs = readFieldInputs(view, locale);
  if ("errors" in fieldInputs) return fieldInputs;
  const { installation, nowMs: atMs, ...who } = sender;
  return {
    message: {
      type: "form_submitted",
      requestId,
      ...installation,
      ...who,
      atMs,
      question,
      values: fieldInputs.values,
    },
  };
}

/** The message itself is read by the worker, because Slack does not send it again with the modal. */
function readAskAbout(
  view: SubmittedView,
  sender: Person & { appId: string },
): ReadModal | undefined {
  const modal = readAskAboutModal(view);
  if (modal === undefined) return undefined;
  const { installation, user, userTeam, submissionId: requestId, appId } = sender;
  const { channel, ts, threadTs = ts, actionTs, external } = modal;
  const userMessage: UserMessage = {
    appId,
    ...installation,
    channel,
    user,
    ...(userTeam && userTeam !== installation.team ? { userTeam } : {}),
    ts: actionTs,
    threadTs,
    direct: channel.startsWith("D"),
    text: "",
    ...(external === undefined ? {} : { external }),
    about: { ts, instruction: readUserText({ text: readInstruction(view), botUsers: [] }) },
  };
  return { ask: { requestId, userMessage } };
}

const shortcutSchema = z.object({
  type: z.literal("message_action"),
  ...whoseSchema,
  callback_id: z.literal(askAboutShortcut),
  trigger_id: boundedText(255),
  action_ts: z.nullish(slackTs),
  channel: z.object({ id: slackId }),
  message: z.object({ ts: slackTs, thread_ts: z.nullish(slackTs) }),
});

/** Undefined for another shortcut. */
export function readShortcut(
  payload: unknown,
  nowMs: number,
): { message: ShortcutUsed } | undefined {
  const { data } = shortcutSchema.safeParse(payload);
  const person = data && readPerson(data);
  if (data === undefined || person === undefined) return undefined;
  const { trigger_id: triggerId, action_ts, channel, message } = data;
  const { installation, ...who } = person;
  const { ts, thread_ts: threadTs } = message;
  return {
    message: {
      type: "shortcut_used",
      requestId: interactionIdOf({
        kind: "shortcut",
        appId: "",
        channel: channel.id,
        ts: triggerId,
      }),
      ...installation,
      ...who,
      channel: channel.id,
      ts,
      ...(threadTs ? { threadTs } : {}),
      actionTs: action_ts ?? (nowMs / 1000).toFixed(6),
      triggerId,
    },
  };
}
