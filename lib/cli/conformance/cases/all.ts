/** All cases, in the order in which they are reported. */
import type { ConformanceCase } from "../case.ts";
import { acceptedCases, cancelCases, endedCases } from "./accepted.ts";
import { boundCases } from "./bounds.ts";
import { authenticationCases, headerCases, otherCases } from "./callers.ts";
import { envelopeCases } from "./envelope.ts";
import { executeCases } from "./execute.ts";
import { feedbackCases } from "./feedback.ts";
import { idempotencyCases } from "./idempotency.ts";
import { hostileCases, isolationCases } from "./isolation.ts";
import { failureCases, questionCases, unknownTaskCases } from "./questions.ts";
import { secondLookCases } from "./second-look.ts";
import { leakCases, rawCases } from "./sums.ts";

export const conformanceCases: readonly ConformanceCase[] = [
  ...executeCases,
  ...envelopeCases,
  ...hostileCases,
  ...headerCases,
  ...authenticationCases,
  ...unknownTaskCases,
  ...failureCases,
  ...questionCases,
  ...acceptedCases,
  ...cancelCases,
  ...endedCases,
  ...feedbackCases,
  ...idempotencyCases,
  ...isolationCases,
  ...secondLookCases,
  ...otherCases,
  ...rawCases,
  ...boundCases,
  ...leakCases,
];
