/** The Execution zone of a load run as a process. */

import { parseConfig } from "@sekisho/config/load.ts";
import { startExecutionZone } from "@sekisho/local/execution-zone.ts";
import { openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { createLog } from "@sekisho/runtime/log.ts";
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
