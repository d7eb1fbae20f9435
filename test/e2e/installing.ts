/** Somebody who may allow it installs the app into a workspace or an organization, in a browser. */
import { expect } from "@jest/globals";
import { createBrowser } from "../verification/oauth/browser.ts";
import type { E2eWorld } from "./world.ts";

export function browserAt({ verificationUrl }: E2eWorld) {
  return createBrowser({
    oauth: ({ url, headers }) => {
      const { pathname, search } = new URL(url);
      return fetch(new URL(pathname + search, verificationUrl), { headers, redirect: "manual" });
    },
  });
}

export async function install(world: E2eWorld, where: { team: string } | { enterprise: string }): Promise<void> {
  const browser = browserAt(world);
  const { state, authorize } = await browser.begin();
  expect(authorize.searchParams.get("client_id")).toBe("1234.5678");
  const { code } = world.fakeSlack.authorize(where);
  expect(await browser.back({ code, state })).toMatchObject({ status: 200 });
}
