/** The allowlist of the local run: a record of its sqlite file, which may be in use by the zone itself at the same time. */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseStoredRules, rulesKeepMs } from "../../../lambdas/verification/gate/allowlist.ts";
import { isFolderLocked, openSqliteEngine } from "../../local/engine.ts";
import type { RulePlace } from "./rule-set.ts";

/** Throws where there is no file, which is not made, or where it cannot be used. */
export function openLocalRules({ directory, file: named }: { directory: string; file: string | undefined }): RulePlace {
  const file = named === undefined ? join(directory, ".sekisho", "verification.db") : resolve(directory, named);
  if (!existsSync(file)) {
    throw new Error(
      `There is no ${file}: the local run keeps its rules there, from its first start on. Name its file by --store, or a stage on AWS by --stage.`,
    );
  }
  const engine = openSqliteEngine({ file });
  const soon = `within ${rulesKeepMs / 1000} seconds, without a restart`;
  const isRunning = isFolderLocked({ folder: dirname(file) });
  return {
    where: `in ${file}`,
    store: engine.taskStore({ parse: parseStoredRules }),
    sinceWhen: isRunning ? soon : `${soon}, where the zone is at work; else from its next start on`,
    ofConfiguration: "from the next start on",
    close: () => engine.close(),
  };
}
