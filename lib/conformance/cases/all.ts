/** All cases, in the order in which they are reported. */
import type { ConformanceCase } from "../case.ts";
import { acceptedCases, cancelCases, endedCases } from "./accepted.ts";
import { approvalCases } from "./approvals.ts";
import { askerCases } from "./asker.ts";
import { boundCases } from "./bounds.ts";
import { authenticationCases, headerCases, otherCases } from "./callers.ts";
import { conversationCases, fileCases } from "./conversations.ts";
import { envelopeCases } from "./envelope.ts";
import { executeCases } from "./execute.ts";
import { failureCases } from "./failures.ts";
import { feedbackCases } from "./feedback.ts";
import { idempotencyCases } from "./idempotency.ts";
import { hostileCases, isolationCases } from "./isolation.ts";
import { questionFieldCases } from "./question-fields.ts";
import { questionCases, unknownTaskCases } from "./questions.ts";
import { replyCases } from "./replies.ts";
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
  ...replyCases,
  ...questionFieldCases,
  ...approvalCases,
  ...askerCases,
  ...acceptedCases,
  ...cancelCases,
  ...endedCases,
  ...feedbackCases,
  ...fileCases,
  ...idempotencyCases,
  ...conversationCases,
  ...isolationCases,
  ...secondLookCases,
  ...otherCases,
  ...rawCases,
  ...boundCases,
  ...leakCases,
];
