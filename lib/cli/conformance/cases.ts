/** Every case of the conformance command, in the order in which they are run: what needs a task under way comes soon after it was accepted. */
import type { ConformanceCase } from "./case.ts";
import { acceptedCases, completedTaskCases } from "./cases/accepted.ts";
import { authenticationCases } from "./cases/authentication.ts";
import { cancelCases } from "./cases/cancel.ts";
import { discoverCases } from "./cases/discover.ts";
import { envelopeCases } from "./cases/envelope.ts";
import { errorCases, internalsCase } from "./cases/errors.ts";
import { executeCases } from "./cases/execute.ts";
import { headerCases } from "./cases/headers.ts";
import { idempotencyCases } from "./cases/idempotency.ts";
import { limitCases } from "./cases/limits.ts";
import { questionCases } from "./cases/questions.ts";
import { taskCases } from "./cases/tasks.ts";

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
