/** The files of forwarded messages, as Slack's clients send them. */
import { expect, it } from "@jest/globals";
import { readSharedFiles } from "@sekisho/verification/slack/api/shared-files.ts";

const file = {
  id: "F1",
  name: "plan.csv",
  mimetype: "text/csv",
  size: 4,
  url_private: "https://files.slack.com/F1",
};
const listedFile = {
  id: "F1",
  name: "plan.csv",
  mimetype: "text/csv",
  size: 4,
  url: "https://files.slack.com/F1",
};
const stub = {
  id: "F2",
  mode: "file_access",
  file_access: "check_file_info",
  created: 0,
  timestamp: 0,
  user: "",
};

it("reads the files of a forwarded message, also those with only an id", () => {
  const attachments = [{ is_share: true, is_msg_unfurl: true, text: "Look", files: [file, stub] }];
  expect(readSharedFiles({ attachments })).toMatchObject([listedFile, { id: "F2", isStub: true }]);
});

it("ignores the files of previews and other attachments", () => {
  const previews = [
    { is_msg_unfurl: true, files: [file] },
    { from_url: "https://a.example", files: [file] },
    { files: [file] },
  ];
  expect(
    readSharedFiles({ attachments: [...previews, { is_share: "true", files: [file] }] }),
  ).toEqual([]);
});

it("reads the files of a message_share message, whose forwards may be unmarked", () => {
  const attachments = [{ is_msg_unfurl: true, files: [file] }];
  expect(readSharedFiles({ attachments, subtype: "message_share" })).toMatchObject([listedFile]);
});

it("reads at most ten files", () => {
  const files = Array.from({ length: 30 }, (_, n) => ({ ...file, id: `F${n}` }));
  expect(
    readSharedFiles({
      attachments: [
        { is_share: true, files },
        { is_share: true, files },
      ],
    }),
  ).toHaveLength(10);
});

it.each([
  [undefined],
  [null],
  ["text"],
  [{}],
  [[null, 1, "a", [], { is_share: true }]],
  [[{ is_share: true, files: [null, {}, { id: 1 }] }]],
])("reads no files from %j", (attachments) => {
  expect(readSharedFiles({ attachments })).toEqual([]);
});
