/** Runs the agent file of the working directory once, as a local zone does. Prints its outcome, and on stderr what its author reads. */
import { loadAgent } from "@sekisho/execution/agents/load-agent.ts";
import { cleanUp } from "@sekisho/execution/runs/clean-up.ts";
import { collectOutcome } from "@sekisho/execution/runs/collect-outcome.ts";
import { describeLoadError } from "@sekisho/local/author/describe-load.ts";
import { reportAgent } from "@sekisho/local/author/report-agent.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { agentContext, agentTask } from "../../execution/agents/agent-context.ts";

const file = `${process.cwd()}/agent.ts`;
try {
  const loaded = await loadAgent({ agent: file, cwd: "/", readSecret: async () => "" });
  const agent = reportAgent({ agent: loaded, file, show: (text) => process.stderr.write(text) });
  const { end } = await collectOutcome({
    agent,
    task: agentTask({ channel: "C1", text: "hello" }),
    context: agentContext(undefined, silentLog),
    isReadableUrl: () => true,
    onNews: () => {},
    endUpdates: (updates) => cleanUp({ updates, log: silentLog }),
  });
  process.stdout.write(JSON.stringify(end));
} catch (error) {
  process.stderr.write(describeLoadError({ error: Object(Object(error).cause), file }).join("\n"));
  process.exitCode = 2;
}
