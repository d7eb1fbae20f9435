/** People press buttons: of a question that they see, once, and Slack tells the ingress a single time. */
import type { Ingress } from "../../lambdas/verification/ingress/ingress.ts";
import { questionPart } from "../../lambdas/verification/slack/messages/blocks.ts";
import type { Pool } from "./pool.ts";
import { type Process, within } from "./processes.ts";
import { workspace } from "./settings.ts";
import { signed } from "./signed.ts";
import type { Post, SimSlack } from "./sim-slack.ts";
import { later } from "./virtual-time.ts";
import { meet, type World } from "./world.ts";

type Button = { action_id: string; value: string };

/** A person who does not see the question yet looks again, for 15 minutes. */
const lookEveryMs = 5000;
const mostLooks = 180;
const mostTries = 20;

export function clickButtons({
  world,
  slack,
  process,
  ingresses,
}: {
  world: World;
  slack: SimSlack;
  process: Process;
  ingresses: Pool<Ingress>;
}): void {
  for (const { afterMs, option, by = "asker" } of world.story.buttonClicks) {
    const user = by === "asker" ? workspace.user : workspace.stranger;
    within({ process, run: () => later({ delayMs: afterMs, run: () => look({ option, user, looks: 0 }) }) });
  }

  function look({ option, user, looks }: { option: number; user: string; looks: number }): void {
    const question = slack.posts.find(({ key }) => key?.part === questionPart);
    const button = question && buttonsOf(question)[option];
    if (question !== undefined && button !== undefined) clickButton({ question, button, user, tries: 1 });
    if (question === undefined && looks < mostLooks)
      later({ delayMs: lookEveryMs, run: () => look({ option, user, looks: looks + 1 }) });
  }

  function clickButton(clicked: { question: Post; button: Button; user: string; tries: number }): void {
    const { question, button, user, tries } = clicked;
    const { fate } = meet({ world, process, point: "slack.button_click", about: () => `${user} ${button.action_id}` });
    const instance = ingresses.find({ mayShare: true });
    // What was lost the person sees, and presses again, for a minute.
    if (fate === "lost" || instance === undefined) {
      if (tries < mostTries) later({ delayMs: 3000, run: () => clickButton({ ...clicked, tries: tries + 1 }) });
      return;
    }
    const payload = {
      type: "block_actions",
      team: { id: workspace.team },
      user: { id: user },
      channel: { id: workspace.channel },
      message: { ts: question.ts, thread_ts: question.threadTs },
      actions: [{ type: "button", ...button }],
    };
    const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    void within({ process: instance.process, run: () => instance.work(signed({ body, type: "form" })) });
  }
}

export function buttonsOf({ blocks }: Pick<Post, "blocks">): Button[] {
  return blocks.flatMap((block) => (block.type === "actions" ? (block.elements as Button[]) : []));
}
