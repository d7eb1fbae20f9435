/** The Execution zone of a load run as a process. */

import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import { createLog } from "../../../lambdas/shared/log.ts";
import { openSqliteEngine } from "../../../lib/local/engine.ts";
import { startExecutionZone } from "../../../lib/local/execution-zone.ts";
import { countingEngine, countOperations } from "../counting-engine.ts";
import { holdTasks } from "./agent.ts";
import { type ExecutionSettings, readSettings, serveParent, tell } from "./parent.ts";

const { config, file, atOnce, quietMs } = readSettings<ExecutionSettings>();
holdTasks({ atOnce, quietMs });
const counter = countOperations();
const zone = await startExecutionZone({
  config: parseConfig({ json: config }).execution,
  openEngine: () => countingEngine({ engine: openSqliteEngine({ file }), count: counter.count }),
  directory: import.meta.dirname,
  port: 0,
  log: createLog({ service: "execution", level: "error" }),
});
serveParent({ operations: counter.counts, counts: { calls: {}, failed: {} }, close: zone.close });
tell({ type: "ready", url: zone.url });
