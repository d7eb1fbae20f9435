/**
 * People use modals: they press the button of a question that has fields, or choose the shortcut of a message, and fill in what opens. Slack
 * tells the ingress each of these once. What seems to have done nothing they try again, for some minutes.
 */
import type { Ingress } from "@sekisho/verification/ingress/ingress.ts";
import { askAboutShortcut } from "@sekisho/verification/slack/api/manifest.ts";
import type { ModalView } from "@sekisho/verification/slack/api/slack.ts";
import { interactionIdOf } from "@sekisho/verification/task/routing.ts";
import type { Post } from "../world/memory-slack.ts";
import { buttonsOf } from "./button-clicks.ts";
import type { Asked } from "./people.ts";
import type { Pool } from "./pool.ts";
import { type Process, within } from "./processes.ts";
import { workspace } from "./settings.ts";
import { signed } from "./signed.ts";
import { type SimSlack, tsOf } from "./sim-slack.ts";
import { later } from "./virtual-time.ts";
import { laterInStory, meet, type World } from "./world.ts";

type Around = { world: World; slack: SimSlack; process: Process; ingresses: Pool<Ingress> };

const lookEveryMs = 5000;
const mostLooks = 180;
const mostTries = 20;
/** A modal that has not opened by then will not. */
const openedAfterMs = 5000;
const writingMs = 4000;
const againAfterMs = 3000;

/** The view's id says which use of a modal it is, so that it is known before the modal opens. */
const viewIdOf = (use: string) => `V${use}`;

export function fillForms(around: Around): void {
  const { world, slack, process } = around;
  for (const [number, { afterMs, choice }] of (world.story.forms ?? []).entries()) {
    within({ process, run: () => laterInStory({ world, afterMs, run: () => look(0) }) });

    function look(looks: number): void {
      const question = slack.posts.find(({ key }) => key?.kind === "question");
      if (question !== undefined) {
        const payload = (triggerId: string) => clickPayload(question, triggerId);
        const values = {
          0: { input: { type: "static_select", selected_option: { value: String(choice) } } },
        };
        // The button goes when the question is answered.
        const isThere = () => buttonsOf(question).length > 0;
        useModal(around, { use: `F${number}`, payload, values, isThere, onTaken: () => {} });
      } else if (looks < mostLooks) later({ delayMs: lookEveryMs, run: () => look(looks + 1) });
    }
  }
}

/** The tasks that come of shortcuts, as messages that were asked. */
export function chooseShortcuts(around: Around, messages: Asked[]): void {
  const { world, process } = around;
  const { startMs } = world;
  for (const [number, { afterMs, about, instruction }] of (world.story.shortcuts ?? []).entries()) {
    const subject = messages[about];
    if (subject === undefined) throw new Error(`The story has no message ${about}.`);
    const use = `S${number}`;
    const ts = tsOf({ atMs: startMs + afterMs, count: 200 + number });
    const requestId = interactionIdOf({
      kind: "modal",
      appId: workspace.app,
      channel: "",
      ts: viewIdOf(use),
    });
    const message: Asked = {
      requestId,
      text: `${instruction}\n\n> ${subject.text}`,
      ts,
      writtenAtMs: startMs + afterMs,
      threadTs: subject.threadTs,
      user: workspace.user,
      isUnaddressed: false,
      isCommand: false,
      hasFile: false,
      lateFile: undefined,
      isTaken: world.from?.taken.includes(requestId) ?? false,
      change: undefined,
    };
    messages.push(message);
    for (const id of [requestId, ts]) world.names.add(id, `#${messages.length}`);
    const payload = (triggerId: string) => ({
      ...shortcutPayload(subject.ts, ts),
      trigger_id: triggerId,
    });
    const values = { instruction: { input: { type: "plain_text_input", value: instruction } } };
    const onTaken = () => {
      message.isTaken = true;
    };
    const run = () => useModal(around, { use, payload, values, isThere: () => true, onTaken });
    within({ process, run: () => laterInStory({ world, afterMs, run }) });
  }
}

type Use = {
  use: string;
  payload: (triggerId: string) => object;
  values: object;
  isThere: () => boolean;
  /** The submission was acknowledged. */
  onTaken: () => void;
};

function useModal(
  { world, slack, process, ingresses }: Around,
  { use, payload, values, isThere, onTaken }: Use,
): void {
  begin(1);

  function begin(tries: number): void {
    if (!isThere() || tries > mostTries) return;
    const triggerId = `${use.length}.${tries}.${use.toLowerCase()}`;
    slack.issueTrigger(triggerId);
    void tell(`${use} ${tries}`, payload(triggerId));
    const waited = () => {
      const view = slack.findModal(triggerId);
      if (view === undefined) begin(tries + 1);
      else later({ delayMs: writingMs, run: () => void submit(view, 1) });
    };
    later({ delayMs: openedAfterMs, run: waited });
  }

  async function submit(view: ModalView, tries: number): Promise<void> {
    // A modal without inputs says why there is nothing to fill in.
    if (view.submit === undefined || tries > mostTries) return;
    if ((await tell(`${use} filled in ${tries}`, submissionPayload(use, view, values))) === 200)
      onTaken();
    else later({ delayMs: againAfterMs, run: () => void submit(view, tries + 1) });
  }

  /** The status that Slack gets. */
  async function tell(about: string, texts: object): Promise<number | undefined> {
    const { fate } = meet({ world, process, point: "slack.button_click", about: () => about });
    const instance = ingresses.find({ mayShare: true });
    if (fate === "lost" || instance === undefined) return undefined;
    const body = new URLSearchParams({ payload: JSON.stringify(texts) }).toString();
    return new Promise((resolve) => {
      const answered = within({
        process: instance.process,
        run: () => instance.work(signed({ body, type: "form" })),
      });
      void answered.then(({ status }) => resolve(status));
      // A process that died answers nothing.
      within({
        process,
        run: () => later({ delayMs: againAfterMs, run: () => resolve(undefined) }),
      });
    });
  }
}

const who = {
  team: { id: workspace.team },
  user: { id: workspace.user, team_id: workspace.team },
  api_app_id: workspace.app,
};

function clickPayload(question: Post, triggerId: string): object {
  return {
    type: "block_actions",
    ...who,
    trigger_id: triggerId,
    channel: { id: workspace.channel },
    message: { ts: question.ts, thread_ts: question.threadTs },
    actions: buttonsOf(question).map((button) => ({ type: "button", ...button })),
  };
}

function shortcutPayload(ts: string, actionTs: string): object {
  return {
    type: "message_action",
    ...who,
    callback_id: askAboutShortcut,
    action_ts: actionTs,
    channel: { id: workspace.channel },
    message: { ts },
  };
}

function submissionPayload(
  use: string,
  { blocks, callback_id, private_metadata }: ModalView,
  values: object,
): object {
  const view = { id: viewIdOf(use), callback_id, private_metadata, blocks, state: { values } };
  return { type: "view_submission", ...who, view };
}
