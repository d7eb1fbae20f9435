/** The texts for a failed task, in English and Japanese. */
import type { ClientReason } from "../../../../contracts/errors.ts";
import type { Locale } from "../../task/task.ts";

/** `happened` is a sentence about what happened, `todo` one about something that the reader can do. */
export type Notice = { happened: string; todo: string };

type Situation =
  | "agent_failed"
  | "busy"
  | "canceled"
  | "lost"
  | "may_have_run"
  | "mismatch"
  | "not_let_in"
  | "no_agent"
  | "no_budget"
  | "no_text"
  | "no_plan"
  | "not_permitted"
  | "task_gone"
  | "too_large"
  | "too_long"
  | "too_long_for_session"
  | "unreachable"
  | "wrong";

/** Maps every reason to a text. All protocol errors share one text, because their details do not help a user. */
const situations: Record<ClientReason, Situation> = {
  parse_error: "mismatch",
  invalid_request: "mismatch",
  method_not_found: "mismatch",
  invalid_params: "no_text",
  internal: "wrong",
  timeout: "too_long",
  task_not_found: "task_gone",
  agent_not_found: "no_agent",
  invalid_state: "task_gone",
  execution_failed: "agent_failed",
  unauthenticated: "not_let_in",
  permission_denied: "not_permitted",
  already_exists: "mismatch",
  budget_exceeded: "no_budget",
  rate_limited: "busy",
  unavailable: "unreachable",
  session_ending: "too_long_for_session",
  invalid_response: "mismatch",
  version_not_supported: "mismatch",
  plan_error: "no_plan",
  payload_too_large: "too_large",
  canceled: "canceled",
  unsupported_operation: "mismatch",
  content_type_not_supported: "mismatch",
  push_not_supported: "mismatch",
  extended_card_not_configured: "mismatch",
  extension_required: "mismatch",
  ambiguous: "may_have_run",
};

const failureTexts: Record<Situation, Record<Locale, Notice>> = {
  agent_failed: {
    en: {
      happened: "The agent worked on this, but could not finish it.",
      todo: "Please try again, or put it in other words.",
    },
    ja: {
      happened: "エージェントが作業しましたが、完了できませんでした。",
      todo: "もう一度試すか、別の言い方でお願いしてください。",
    },
  },
  busy: {
    en: { happened: "The agent has too much to do right now.", todo: "Please ask again in a few minutes." },
    ja: { happened: "エージェントが混み合っています。", todo: "数分後にもう一度お願いしてください。" },
  },
  canceled: {
    en: { happened: "This task was canceled.", todo: "Please ask again if you still need it." },
    ja: { happened: "このタスクは取り消されました。", todo: "まだ必要でしたら、もう一度お願いしてください。" },
  },
  lost: {
    en: {
      happened: "The task was interrupted before it was done.",
      todo: "Please check what was done already, then ask again.",
    },
    ja: {
      happened: "タスクは完了する前に中断されました。",
      todo: "どこまで行われたかを確認してから、もう一度お願いしてください。",
    },
  },
  may_have_run: {
    en: {
      happened: "I lost contact with the agent, so the task may or may not have run.",
      todo: "Please check whether it was done before you ask again.",
    },
    ja: {
      happened: "エージェントとの連絡が途切れたため、タスクが実行されたかどうか分かりません。",
      todo: "実行済みかどうかを確認してから、もう一度お願いしてください。",
    },
  },
  mismatch: {
    en: {
      happened: "The agent and I did not understand each other.",
      todo: "Please give the reference below to your administrator.",
    },
    ja: {
      happened: "エージェントとのやり取りがうまくいきませんでした。",
      todo: "下の照会番号を管理者に伝えてください。",
    },
  },
  not_let_in: {
    en: {
      happened: "The agent did not accept my identity.",
      todo: "Please give the reference below to your administrator.",
    },
    ja: { happened: "エージェントに認証されませんでした。", todo: "下の照会番号を管理者に伝えてください。" },
  },
  no_agent: {
    en: {
      happened: "No agent is set up for this conversation.",
      todo: "Please ask your administrator to set one up.",
    },
    ja: { happened: "この会話にはエージェントが設定されていません。", todo: "管理者に設定を依頼してください。" },
  },
  no_budget: {
    en: { happened: "The budget for this agent is used up.", todo: "Please ask your administrator to raise it." },
    ja: { happened: "このエージェントの予算を使い切りました。", todo: "管理者に増額を依頼してください。" },
  },
  no_plan: {
    en: {
      happened: "The agent did not take this on.",
      todo: "Please describe in more detail what you need.",
    },
    ja: {
      happened: "エージェントはこの依頼を引き受けませんでした。",
      todo: "必要なことをもう少し詳しく書いてください。",
    },
  },
  no_text: {
    en: {
      happened: "I found nothing in your message that the agent could work with.",
      todo: "Please write in words what it should do.",
    },
    ja: {
      happened: "メッセージの中に、エージェントが扱える内容が見つかりませんでした。",
      todo: "してほしいことを文章で書いてください。",
    },
  },
  not_permitted: {
    en: { happened: "The agent is not permitted to do that.", todo: "Please ask your administrator for permission." },
    ja: { happened: "エージェントにはその操作が許可されていません。", todo: "管理者に許可を依頼してください。" },
  },
  task_gone: {
    en: { happened: "The agent no longer knows about this task.", todo: "Please ask again." },
    ja: { happened: "エージェント側にこのタスクの記録がもうありません。", todo: "もう一度お願いしてください。" },
  },
  too_large: {
    en: {
      happened: "The message or its answer is too large to be carried.",
      todo: "Please shorten it, or ask for less at once.",
    },
    ja: { happened: "メッセージまたは回答が大きすぎて扱えません。", todo: "短くするか、分けてお願いしてください。" },
  },
  too_long: {
    en: {
      happened: "The task took longer than it may, and it may still be running.",
      todo: "Please check what was done already before you ask again, or ask for something smaller.",
    },
    ja: {
      happened: "タスクが制限時間を超えました（まだ動いている可能性があります）。",
      todo: "どこまで行われたかを確認してからもう一度お願いするか、もっと小さな内容にしてください。",
    },
  },
  too_long_for_session: {
    en: {
      happened: "This task may take longer than the agent's environment stays up, so it was not started.",
      todo: "Please ask your administrator to lower the time limit of tasks.",
    },
    ja: {
      happened: "タスクの制限時間がエージェントの実行環境の寿命を超えるため、開始しませんでした。",
      todo: "タスクの制限時間を短くするよう、管理者に依頼してください。",
    },
  },
  unreachable: {
    en: {
      happened: "The agent cannot be reached right now.",
      todo: "Please try again in a few minutes, and tell your administrator if that does not help.",
    },
    ja: {
      happened: "現在エージェントに接続できません。",
      todo: "数分後にもう一度試し、それでもだめなら管理者に伝えてください。",
    },
  },
  wrong: {
    en: {
      happened: "Something went wrong that nobody expected.",
      todo: "Please try again, and give the reference below to your administrator if it happens again.",
    },
    ja: {
      happened: "予期しない問題が起きました。",
      todo: "もう一度試し、繰り返す場合は下の照会番号を管理者に伝えてください。",
    },
  },
};

/** `lost` means that the Execution zone lost the task, so that part of the work may be done. */
export function failureText({ reason, lost, locale }: { reason: ClientReason; lost: boolean; locale: Locale }): Notice {
  return failureTexts[lost ? "lost" : situations[reason]][locale];
}
