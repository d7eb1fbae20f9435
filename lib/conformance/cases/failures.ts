/** Cases of agents that fail. */
import type { ConformanceCase } from "../case.ts";
import { Deviation, NotApplicable } from "../deviation.ts";
import { expectError, expectResult, hasReason, mayLackId, readPeerError } from "../expect.ts";

/** How an agent may fail by itself. */
const failures = [
  "execution_failed",
  "budget_exceeded",
  "plan_error",
  "payload_too_large",
] as const;

/** The errors by which a task ends. */
export const outcomes = [...failures, "timeout", "canceled"] as const;

export const failureCases: readonly ConformanceCase[] = [
  {
    name: "failure/error",
    level: "required",
    section: "Errors",
    expects:
      "an agent that fails: a JSON-RPC error such as -32064, or a result whose status is error",
    advice: "Catch what the agent throws, and answer with execution_failed (-32064).",
    async check({ tasks, texts }) {
      const { last } = await tasks.failed();
      const { response, came, id } = last;
      if (response === undefined) throw new Deviation(came);
      const hasId =
        response.id === id || ("error" in response && response.id === null && mayLackId(last));
      if (!hasId) throw new Deviation(`${came}; its id is not the one that was sent`);
      if ("error" in response || Object(response.result).status === "error") return came;
      const { status } = expectResult(last, "execute_task");
      throw new NotApplicable(
        `the agent did not fail at "${texts.fail}" (${status}) (--fail-text)`,
      );
    },
  },
  {
    name: "failure/reason",
    level: "required",
    section: "Errors",
    needs: ["failure/error"],
    expects: "an agent that fails: the error of an outcome, or internal; and not HTTP 429 or 503",
    advice:
      "Use execution_failed. unavailable, rate_limited and session_ending say that nothing was begun, so the task would run again.",
    async check({ tasks }) {
      const { last } = await tasks.failed();
      const isOutcome =
        readPeerError(last) === undefined || hasReason(last, [...failures, "timeout", "internal"]);
      if (!isOutcome || last.status === 503 || last.status === 429) throw new Deviation(last.came);
      return last.came;
    },
  },
  {
    name: "failure/execution-failed",
    level: "strict",
    section: "Errors",
    needs: ["failure/reason"],
    expects:
      "an agent that fails: execution_failed, error -32064; or budget_exceeded, plan_error or payload_too_large",
    advice:
      "Tell failures of the agent (execution_failed) from those of your host (internal), and send no results with the status error.",
    check: async ({ tasks }) => expectError((await tasks.failed()).last, failures),
  },
];
