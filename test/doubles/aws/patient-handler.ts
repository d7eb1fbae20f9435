/** An AWS client's request handler for emulators, which may answer late on a busy machine. */
import { NodeHttpHandler } from "@smithy/node-http-handler";

/** For `requestHandler` of a client. Waits for a late answer, since a retry would put a message in the queue twice. */
export function patientHandler() {
  const handler = new NodeHttpHandler();
  return {
    metadata: handler.metadata,
    handle: (...[request, options]: Parameters<NodeHttpHandler["handle"]>) =>
      handler.handle(request, { ...options, requestTimeout: 0 }),
    destroy: () => handler.destroy(),
  };
}
