/** The local page on a free port, with a fake Slack and an ingress that takes everything. */

import { startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import { createPage } from "@sekisho/local/page/page.ts";
import { createStepRecorder } from "@sekisho/local/recorder/step-recorder.ts";
import { createDoor } from "@sekisho/local/web/door.ts";
import type { IngressRequest } from "@sekisho/verification/ingress/ingress.ts";
import { startVerificationServer } from "@sekisho/verification/ingress/server.ts";
import { hangMs } from "../../tooling/hang.ts";
import { bytesIn } from "../../verification/ingress/bytes-in.ts";

export const botToken = "xoxb-fake-slack";

export async function serveLocalPage() {
  const fakeSlack = await startFakeSlack({ signingSecret: "s", botToken, triggerLifeMs: hangMs });
  const stepRecorder = createStepRecorder();
  const door = createDoor();
  const page = createPage({ fakeSlack, stepRecorder, door });
  const requests: { headers: IngressRequest["headers"]; body: string }[] = [];
  const server = await startVerificationServer({
    port: 0,
    page: page.handle,
    async ingress(request) {
      requests.push({
        headers: request.headers,
        body: Buffer.from(await bytesIn(request)).toString(),
      });
      return { status: 200, headers: {}, body: "" };
    },
  });
  return {
    url: server.url,
    address: door.address(`${server.url}/`),
    fakeSlack,
    stepRecorder,
    /** What the ingress got. */
    requests,
    async close() {
      page.close();
      await server.close();
      await fakeSlack.close();
    },
  };
}
