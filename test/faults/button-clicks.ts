/** People press buttons that they see, once, and Slack tells the ingress a single time. */
import type { Ingress } from "@sekisho/verification/ingress/ingress.ts";
import { isOutcome } from "@sekisho/verification/slack/api/post-keys.ts";
import type { Post } from "../world/memory-slack.ts";
import type { Pool } from "./pool.ts";
import { type Process, within } from "./processes.ts";
import { teamOf, workspace } from "./settings.ts";
import { signed } from "./signed.ts";
import type { SimSlack } from "./sim-slack.ts";
import { later } from "./virtual-time.ts";
import { laterInStory, meet, type World } from "./world.ts";

type Button = { action_id: string; value: string };

/** A person who does not see the button yet looks again, for 15 minutes. */
const lookEveryMs = 5000;
const mostLooks = 180;
const mostTries = 20;

type Click = World["story"]["buttonClicks"][number];
type Clicks = {
  world: World;
  slack: SimSlack;
  process: Process;
  ingresses: Pool<Ingress>;
  /** A click has reached the ingress. `taken` resolves if it was taken; otherwise nobody hears of it. */
  onClick: (click: {
    clicked: Click;
    user: string;
    requestId: string;
    taken: Promise<void>;
  }) => void;
};

export function clickButtons({ world, slack, process, ingresses, onClick }: Clicks): void {
  for (const clicked of world.story.buttonClicks) {
    const { by = "asker" } = clicked;
    const user = {
      asker: workspace.user,
      stranger: workspace.stranger,
      outsider: workspace.outsider,
    }[by];
    const run = () => look({ clicked, user, looks: 0 });
    within({ process, run: () => laterInStory({ world, afterMs: clicked.afterMs, run }) });
  }

  function look({ clicked, user, looks }: { clicked: Click; user: string; looks: number }): void {
    for (const post of slack.posts) {
      // A second try that failed has a button of its own.
      const button =
        world.names.of(post.key?.requestId) === "#1" ? buttonFor(clicked, post) : undefined;
      if (button === undefined) continue;
      clickButton({ clicked, post, button, user, tries: 1 });
      return;
    }
    const isThere = "option" in clicked && slack.posts.some(({ key }) => key?.kind === "question");
    if (!isThere && looks < mostLooks)
      later({ delayMs: lookEveryMs, run: () => look({ clicked, user, looks: looks + 1 }) });
  }

  function clickButton(about: {
    clicked: Click;
    post: Post;
    button: Button;
    user: string;
    tries: number;
  }): void {
    const { clicked, post, button, user, tries } = about;
    const { fate } = meet({
      world,
      process,
      point: "slack.button_click",
      about: () => `${user} ${button.action_id}`,
    });
    const instance = ingresses.find({ mayShare: true });
    // What was lost the person sees, and presses again, for a minute.
    if (fate === "lost" || instance === undefined) {
      if (tries < mostTries)
        later({ delayMs: 3000, run: () => clickButton({ ...about, tries: tries + 1 }) });
      return;
    }
    const payload = {
      type: "block_actions",
      team: { id: workspace.team },
      user: { id: user, team_id: teamOf(user) },
      channel: { id: workspace.channel },
      message: { ts: post.ts, thread_ts: post.threadTs },
      actions: [{ type: "button", ...button }],
    };
    const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    const answered = within({
      process: instance.process,
      run: () => instance.work(signed({ body, type: "form" })),
    });
    const taken = new Promise<void>(
      (resolve) => void answered.then(({ status }) => status === 200 && resolve()),
    );
    onClick({ clicked, user, requestId: post.key?.requestId ?? "", taken });
  }
}

function buttonFor(clicked: Click, post: Post): Button | undefined {
  if ("option" in clicked)
    return post.key?.kind === "question" ? buttonsOf(post)[clicked.option] : undefined;
  if ("retries" in clicked) return isOutcome(post.key) ? buttonsOf(post).find(isRetry) : undefined;
  const [element] = post.blocks.flatMap(({ type, elements }) =>
    type === "context_actions" ? elements : [],
  ) as Votes[];
  if (element === undefined) return undefined;
  const { action_id, positive_button, negative_button } = element;
  return { action_id, value: (clicked.vote === "up" ? positive_button : negative_button).value };
}

type Votes = {
  action_id: string;
  positive_button: { value: string };
  negative_button: { value: string };
};

export function buttonsOf({ blocks }: Pick<Post, "blocks">): Button[] {
  return blocks.flatMap((block) => (block.type === "actions" ? (block.elements as Button[]) : []));
}

/** The buttons that must go at the end: all but the one that tries a failed task again. */
export function liveButtonsOf(post: Pick<Post, "blocks">): Button[] {
  return buttonsOf(post).filter((button) => !isRetry(button));
}

function isRetry({ action_id }: Button): boolean {
  return action_id === "sekisho_retry";
}
