/** The texts for a failed task, in English and Japanese. */
import type { ClientReason } from "@sekisho/contracts/errors.ts";
import type { Locale } from "../../task/task.ts";

/** `happened` is a sentence about what happened, `todo` one about something that the reader can do. */
export type Notice = { happened: string; todo: string };

type Situation =
  | "agent_failed"
  | "busy"
  | "canceled"
  | "lost"
  | "may_have_run"
  | "may_run_on"
  | "mismatch"
  | "not_let_in"
  | "not_recognized"
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
  asker_unverified: "not_recognized",
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

/** Said in several situations. Plain constants, so that bundles that do not use the texts leave them out. */
const checkFirst = "どこまで進んだかを確認してから、もう一度お試しください。";
const giveReference = "下のお問い合わせ番号を管理者にお伝えください。";

const failureTexts: Record<Situation, Record<Locale, Notice>> = {
  agent_failed: {
    en: {
      happened: "The agent couldn't finish this.",
      todo: "Try again, or rephrase your request.",
    },
    ja: {
      happened: "エージェントが作業を完了できませんでした。",
      todo: "もう一度試すか、依頼の書き方を変えてみてください。",
    },
  },
  busy: {
    en: { happened: "The agent is busy right now.", todo: "Try again in a few minutes." },
    ja: {
      happened: "現在、エージェントへの依頼が混み合っています。",
      todo: "数分後にもう一度お試しください。",
    },
  },
  canceled: {
    en: { happened: "This was canceled.", todo: "Ask again if you still need it." },
    ja: {
      happened: "この依頼はキャンセルされました。",
      todo: "まだ必要な場合は、もう一度ご依頼ください。",
    },
  },
  lost: {
    en: {
      happened: "This was interrupted before it finished.",
      todo: "Check what was done before you ask again.",
    },
    ja: {
      happened: "処理が途中で中断されました。",
      todo: checkFirst,
    },
  },
  may_have_run: {
    en: {
      happened: "I lost contact with the agent, so I don't know if this was done.",
      todo: "Check before you ask again.",
    },
    ja: {
      happened: "エージェントとの接続が切れたため、処理が完了したかどうか確認できません。",
      todo: "結果を確認してから、もう一度お試しください。",
    },
  },
  may_run_on: {
    en: {
      happened: "I tried to cancel this, but it may still be running.",
      todo: "Check what was done before you ask again.",
    },
    ja: {
      happened: "キャンセルを受け付けましたが、まだ処理が続いている可能性があります。",
      todo: checkFirst,
    },
  },
  mismatch: {
    en: {
      happened: "I couldn't communicate with the agent.",
      todo: "Tell your admin and give them the reference below.",
    },
    ja: {
      happened: "エージェントと正しく通信できませんでした。",
      todo: giveReference,
    },
  },
  not_let_in: {
    en: {
      happened: "I couldn't sign in to the agent.",
      todo: "Tell your admin and give them the reference below.",
    },
    ja: {
      happened: "エージェントへの接続を認証できませんでした。",
      todo: giveReference,
    },
  },
  not_recognized: {
    en: {
      happened: "The agent couldn't confirm who asked.",
      todo: "Tell your admin and give them the reference below.",
    },
    ja: {
      happened: "エージェント側で、依頼した人を確認できませんでした。",
      todo: giveReference,
    },
  },
  no_agent: {
    en: {
      happened: "No agent is set up for this conversation.",
      todo: "Ask your admin to set one up.",
    },
    ja: {
      happened: "この会話にはエージェントが設定されていません。",
      todo: "管理者に設定を依頼してください。",
    },
  },
  no_budget: {
    en: { happened: "The agent's budget is used up.", todo: "Ask your admin to raise it." },
    ja: {
      happened: "エージェントの予算を使い切りました。",
      todo: "管理者に増額を依頼してください。",
    },
  },
  no_plan: {
    en: {
      happened: "The agent didn't take this on.",
      todo: "Describe what you need in more detail.",
    },
    ja: {
      happened: "エージェントがこの依頼に対応できませんでした。",
      todo: "してほしいことを、もう少し詳しくお書きください。",
    },
  },
  no_text: {
    en: {
      happened: "I couldn't find a request in your message.",
      todo: "Tell me what you need in a few words.",
    },
    ja: {
      happened: "メッセージから依頼の内容を読み取れませんでした。",
      todo: "してほしいことを文章でお送りください。",
    },
  },
  not_permitted: {
    en: { happened: "The agent isn't allowed to do that.", todo: "Ask your admin for permission." },
    ja: {
      happened: "エージェントにはその操作が許可されていません。",
      todo: "管理者に許可を依頼してください。",
    },
  },
  task_gone: {
    en: {
      happened: "The agent has lost track of this.",
      todo: "Check what was done before you ask again.",
    },
    ja: {
      happened: "エージェント側にこの依頼の記録が見つかりませんでした。",
      todo: checkFirst,
    },
  },
  too_large: {
    en: {
      happened: "Your message or the answer to it is too large.",
      todo: "Shorten your message, or ask for less at once.",
    },
    ja: {
      happened: "メッセージまたは回答のサイズが大きすぎます。",
      todo: "内容を短くするか、分けてご依頼ください。",
    },
  },
  too_long: {
    en: {
      happened: "This ran out of time. It may still be running.",
      todo: "Check what was done before you ask again.",
    },
    ja: {
      happened: "時間切れになりました。まだ処理が続いている可能性があります。",
      todo: checkFirst,
    },
  },
  too_long_for_session: {
    en: {
      happened: "The agent can't run long enough to finish this, so I didn't start it.",
      todo: "Ask your admin to check the time limit, and give them the reference below.",
    },
    ja: {
      happened: "エージェントが動作できる時間内に終わらない可能性があるため、開始しませんでした。",
      todo: "管理者に制限時間の見直しを依頼してください。",
    },
  },
  unreachable: {
    en: {
      happened: "I can't reach the agent right now.",
      todo: "Try again in a few minutes. If it keeps happening, tell your admin.",
    },
    ja: {
      happened: "現在、エージェントに接続できません。",
      todo: "数分後にもう一度お試しください。解決しない場合は、管理者にお知らせください。",
    },
  },
  wrong: {
    en: {
      happened: "Something went wrong.",
      todo: "Try again. If it keeps happening, tell your admin and give them the reference below.",
    },
    ja: {
      happened: "問題が発生しました。",
      todo: "もう一度お試しください。解決しない場合は、下のお問い合わせ番号を管理者にお伝えください。",
    },
  },
};

/** `lost` means that the Execution zone lost the task, so that part of the work may be done. */
export function failureText({
  reason,
  lost,
  locale,
}: {
  reason: ClientReason;
  lost: boolean;
  locale: Locale;
}): Notice {
  return failureTexts[lost ? "lost" : situations[reason]][locale];
}

/** For a task that a person canceled, if nobody knows whether the agent has stopped. */
export function unconfirmedCancelText(locale: Locale): Notice {
  return failureTexts.may_run_on[locale];
}
