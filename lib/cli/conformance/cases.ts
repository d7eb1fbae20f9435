/** All cases in the order in which they run. Those that need a task under way run soon after it was accepted. */
import type { ConformanceCase } from "./case.ts";
import { acceptedCases, cancelCases, completedTaskCases, questionCases, taskCases } from "./cases/accepted.ts";
import { authenticationCases, discoverCases, headerCases } from "./cases/callers.ts";
import { envelopeCases, errorCases, internalsCase, limitCases } from "./cases/envelope.ts";
import { executeCases, idempotencyCases } from "./cases/execute.ts";

export const conformanceCases: readonly ConformanceCase[] = [
  ...executeCases,
  ...envelopeCases,
  ...errorCases,
  ...limitCases,
  ...headerCases,
  ...authenticationCases,
  ...taskCases,
  ...questionCases,
  ...discoverCases,
  ...acceptedCases,
  ...cancelCases,
  ...idempotencyCases,
  ...completedTaskCases,
  internalsCase,
];
