/** Who may use a page on loopback: the browser that opened the printed address, and nobody else. The same for both pages. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { openTasksInFile, requestIdOf, servePage } from "../../cli/operate/tasks-in-file.ts";
import { serveLocalPage } from "../page/serve-local-page.ts";
import { stranger, type Visitor, visit } from "./ask.ts";

type Served = {
  url: string;
  address: string;
  effects(): Promise<unknown[]>;
  close(): Promise<void>;
};

async function serveOperatorsPage(): Promise<Served> {
  const tasks = openTasksInFile();
  const site = await servePage({ folder: tasks.folder });
  await tasks.add(1, { state: "waiting" });
  return {
    ...site,
    effects: tasks.queued,
    async close() {
      await site.close();
      await tasks.close();
    },
  };
}

const pages = [
  {
    name: "the local page",
    serve: async () => {
      const site = await serveLocalPage();
      return { ...site, effects: async () => site.fakeSlack.messages() };
    },
    home: "/",
    /** What a browser without the printed address gets for the document. */
    closed: {
      status: 401,
      body: expect.stringContaining("Open the address that the command printed"),
    },
    reads: ["/local/events", "/local/files/F0"],
    action: "/local/messages",
    body: { text: "hi" },
  },
  {
    name: "the operators' page",
    serve: serveOperatorsPage,
    home: "/operate/",
    closed: { status: 303, headers: { location: "/operate/sign-in" } },
    reads: ["where", "live", "destinations", "dead-letters", `tasks/${requestIdOf(1)}`].map(
      (path) => `/operate/api/${path}`,
    ),
    action: `/operate/api/tasks/${requestIdOf(1)}/cancel`,
    body: {},
  },
];

describe.each(pages)("$name on loopback", ({ serve, home, closed, reads, action, body }) => {
  let site: Served;
  let url: string;
  let port: string;
  let visitor: Visitor;
  beforeAll(async () => {
    site = await serve();
    ({ url } = site);
    ({ port } = new URL(url));
  });
  beforeEach(async () => {
    visitor = await visit(site.address);
  });
  afterAll(() => site.close());

  it("exchanges the token of the printed address for a cookie and redirects to the address without it", async () => {
    const { search } = new URL(site.address);
    const { status, headers, body } = await stranger(url).ask(`${home}${search}`);
    expect({ status, location: headers.location }).toEqual({ status: 303, location: home });
    expect(headers["set-cookie"]).toEqual([
      expect.stringMatching(
        new RegExp(`^sekisho-page-${port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`),
      ),
    ]);
    expect(JSON.stringify([headers, body])).not.toContain(search.split("=")[1]);
    for (const wrong of ["?token=", "?token=wrong", search.slice(0, -1), `${search}x`]) {
      const refusal = await stranger(url).ask(`${home}${wrong}`);
      expect(refusal).toMatchObject(closed);
      expect(refusal.headers["set-cookie"]).toBeUndefined();
    }
  });

  it.each([
    ["no cookie", ""],
    ["a made-up cookie", "made-up"],
  ])("refuses every read and every action with %s", async (_what, value) => {
    const { ask, post } = stranger(url, value && `${visitor.cookie.split("=")[0]}=${value}`);
    expect(await ask(home)).toMatchObject(closed);
    for (const path of reads) expect(await ask(path)).toMatchObject({ status: 401 });
    expect(await post(action, body)).toMatchObject({ status: 401 });
    expect(await site.effects()).toEqual([]);
  });

  it("finds its session among cookies of the same name that another port has set", async () => {
    const [name] = visitor.cookie.split("=");
    const planted = Array.from(
      { length: 150 },
      (_, index) => `${name}=${String(index).padStart(43, "x")}`,
    );
    const statusWith = async (cookies: string[]) =>
      (await stranger(url, cookies.join("; ")).ask(home)).status;
    expect(await statusWith([...planted, visitor.cookie])).toBe(200);
    expect(await statusWith(planted)).toBe(closed.status);
  });

  it.each([
    [
      "a foreign host name that resolves to this machine",
      { host: "evil.example", origin: "http://evil.example" },
    ],
    [
      "a foreign host name with the right port",
      { host: "evil.example:PORT", origin: "http://evil.example:PORT" },
    ],
    ["a host name that only begins like a loopback name", { host: "127.0.0.1.evil.example:PORT" }],
    ["no port", { host: "127.0.0.1", origin: "http://127.0.0.1" }],
    ["another port", { host: "127.0.0.1:1", origin: "http://127.0.0.1:1" }],
    ["another site", { origin: "https://evil.example" }],
    ["another site with a name like this machine's", { origin: "http://localhost.evil.example" }],
    ["another name of this machine", { origin: "http://localhost:PORT" }],
    ["an opaque origin", { origin: "null" }],
    ["a frame of another site", { "sec-fetch-site": "cross-site" }],
  ])(
    "refuses a request from elsewhere without an effect: %s",
    async (_who, values: Record<string, string>) => {
      const headers = Object.fromEntries(
        Object.entries(values).map(([key, value]) => [key, value.replace("PORT", port)]),
      );
      for (const path of reads)
        expect(await visitor.ask(path, { headers })).toMatchObject({ status: 403 });
      expect(await visitor.post(action, body, headers)).toMatchObject({ status: 403 });
      if (values.host !== undefined)
        expect(await visitor.ask(home, { headers })).toMatchObject({ status: 403 });
      expect(await site.effects()).toEqual([]);
    },
  );

  it("refuses a post without an origin, and one that a form of another site could send", async () => {
    const json = { "content-type": "application/json" };
    const bare = await visitor.ask(action, {
      method: "POST",
      headers: json,
      body: JSON.stringify(body),
    });
    expect(bare.status).toBe(403);
    for (const type of ["text/plain", "application/jsonp"]) {
      expect((await visitor.post(action, body, { "content-type": type })).status).toBe(415);
    }
    expect(await site.effects()).toEqual([]);
  });

  it("accepts the names of this machine, and serves its document to a link from another site", async () => {
    const localhost = { host: `localhost:${port}`, "sec-fetch-site": "same-origin" };
    for (const path of [home, ...reads.filter((each) => each.endsWith(".js"))]) {
      expect((await visitor.ask(path, { headers: localhost })).status).toBe(200);
    }
    expect((await visitor.ask(home, { headers: { "sec-fetch-site": "cross-site" } })).status).toBe(
      200,
    );
  });
});
