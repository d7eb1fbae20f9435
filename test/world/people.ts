/** Who may, which files there are, and what is said: the world's gate, files and texts. */
import type { Files } from "@sekisho/verification/files/files.ts";
import { isAsker } from "@sekisho/verification/gate/border.ts";
import type { Gate } from "@sekisho/verification/gate/gate.ts";
import { SlackError } from "@sekisho/verification/slack/api/slack.ts";
import { questionModalView } from "@sekisho/verification/slack/messages/question.ts";
import { buildNoLinkModal } from "@sekisho/verification/slack/messages/sign-in.ts";
import type { TaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import { createShare } from "@sekisho/verification/slots.ts";
import type { Operate, WorkerProcess } from "./faults.ts";

const gateErrors = {
  refused: () => new Error("gate out of reach"),
  unknown: () => new Error("gate out of reach"),
};
const slackErrors = {
  refused: () => new SlackError("unavailable"),
  unknown: () => new SlackError("ambiguous"),
};

type WorldGateOptions = {
  operate: Operate;
  process: WorkerProcess;
  running: Set<string>;
  rules: Partial<Gate>;
};

/** Everybody may ask; whoever asked may answer and cancel. `running` has what is charged and not released. */
export function worldGate({ operate, process, running, rules }: WorldGateOptions): Gate {
  const gate: Gate = {
    permit: async () => ({ allowed: true, locale: "en" }),
    isIgnored: async () => false,
    // The world's people are of the workspace T1. What Slack names otherwise is not.
    identify: async ({ task: { message }, actor: { user, userTeam = "T1" } }) => ({
      user,
      external: userTeam !== message.team ? "people" : message.external && "channels",
    }),
    isStranger: async () => false,
    mayRefuse: async () => true,
    mayAskThere: async () => true,
    mayCancel: async ({ task, person }) => isAsker(task, person),
    mayAnswer: async ({ task, person }) => isAsker(task, person),
    localeOf: async () => "en",
    accessOf: async () => ({ mayAsk: true, channels: [], rules: [{ team: "T1" }], quota: {} }),
    charge: async ({ task }) => void running.add(task.id),
    findOver: async () => undefined,
    release: async ({ task }) => void running.delete(task.id),
    ...rules,
  };
  const { identify, isStranger, ...decisions } = gate;
  const operations = Object.entries(decisions).map(([name, decide]) => [
    name,
    (request: never) =>
      operate({
        ...{ process, operation: { party: "gate", name }, errors: gateErrors },
        effect: () => decide(request) as Promise<unknown>,
      }),
  ]);
  // Each has the name of its decision.
  return { identify, isStranger, ...Object.fromEntries(operations) } as Gate;
}

/** `uploads` has each time that Slack was given a file. */
export function worldFiles({
  operate,
  process,
  uploads,
  given,
}: {
  operate: Operate;
  process: WorkerProcess;
  uploads: { index: number; fileId: string }[];
  given: Partial<Files>;
}): Files {
  const files: Files = {
    transfers: createShare({ max: 3 }),
    isFetched: () => false,
    importAttachments: async ({ task }) =>
      (task.message.files ?? []).map(({ id, name, mimetype, size }) => {
        return { id, name, mimetype, size, url: `https://files.example/${id}` };
      }),
    async importFurtherFiles({ files }) {
      const found = files.filter(({ url }) => url !== undefined);
      const attachments = found.map(({ id, name, mimetype, size }) => {
        return { id, name, mimetype, size, url: `https://files.example/${id}` };
      });
      return { attachments, leftOut: files.filter(({ url }) => url === undefined) };
    },
    async upload({ index }) {
      const fileId = `F${uploads.length + 1}`;
      uploads.push({ index, fileId });
      return { fileId };
    },
    ...given,
  };
  const at = async <T>(name: string, effect: () => Promise<T>): Promise<T> =>
    operate({ process, operation: { party: "slack", name }, errors: slackErrors, effect });
  return {
    ...files,
    importAttachments: (request) => at("importAttachments", () => files.importAttachments(request)),
    upload: (request) => at("upload", () => files.upload(request)),
  };
}

function content(text: string, plain?: true) {
  return plain ? { text } : { text, blocks: [{ type: "markdown", text }] };
}

/** Answers are divided at each `|`; what is not an answer is told as the record has it. */
export const worldText: TaskText = {
  placeholder: ({ progress }) => content(progress?.text ?? "Working on it"),
  parts({ outcome, mrkdwnFallback }) {
    if (outcome?.type !== "answer") return [{ text: JSON.stringify(outcome) }];
    const failed = (outcome.uploads ?? []).filter((upload) => "failed" in upload).length;
    const note = failed === 0 ? "" : ` (${failed} files are missing)`;
    return `${outcome.text}${note}`.split("|").map((text) => content(text, mrkdwnFallback));
  },
  question({ task: { question, mrkdwnFallback }, nowMs }) {
    const { prompt = "", answer, expiresAtMs = 0 } = question ?? {};
    if (answer !== undefined)
      return {
        text: `${prompt} ${answer.user}: ${answer.option ?? answer.text ?? JSON.stringify(answer.fields)}`,
      };
    return nowMs >= expiresAtMs
      ? { text: `${prompt} It is too late.` }
      : content(prompt || "A question", mrkdwnFallback);
  },
  opening: ({ message }) => content(`${message.user} asks: ${message.text}`),
  status: () => "is working",
  sessionTitle: ({ message }) => message.text,
  replaced: () => ({ text: "Replaced." }),
  lateChange: ({ lateChange }) => ({ text: `It was ${lateChange} too late.` }),
  questionModal: ({ task }) => questionModalView({ task, locale: "en" }),
  noLinkModal: ({ refusal }) => buildNoLinkModal({ text: JSON.stringify(refusal), locale: "en" }),
  withoutRetry: ({ text }) => content(text),
  buttonClickRefused: ({ refusal }) => JSON.stringify(refusal),
};
