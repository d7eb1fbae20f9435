/** Takes the token of the sign-in form: from then on the browser sends it as a cookie that no script can read. */
import type { IncomingMessage, ServerResponse } from "node:http";
import * as z from "zod";
import { respondJson } from "../web/common-headers.ts";
import type { Admission } from "./admission/admission.ts";

const signInSchema = z.object({ token: z.string().trim().min(1).max(8192) });

export async function handleSignIn({
  admission,
  request,
  response,
  body,
}: {
  admission: Admission;
  request: IncomingMessage;
  response: ServerResponse;
  body: unknown;
}): Promise<void> {
  const parsed = signInSchema.safeParse(body).data;
  if (parsed === undefined) return respondJson(response, 400, { words: "A token is needed." });
  if (admission.signIn === undefined) return respondJson(response, 404, { words: "Nobody signs in here." });
  const answer = await admission.signIn(request, parsed.token);
  if ("cookie" in answer) {
    response.setHeader("set-cookie", answer.cookie);
    return respondJson(response, 200, {});
  }
  const { status, words, retryAfterSeconds } = answer;
  if (retryAfterSeconds !== undefined) response.setHeader("retry-after", String(retryAfterSeconds));
  respondJson(response, status, { words: status === 401 ? "That token lets nobody in." : words });
}
