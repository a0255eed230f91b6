/** The whole site as one file: taken as it is, edited or uploaded, planned, and applied as planned. */
import { Button, FileButton, Group, Stack } from '@mantine/core';
import { IconDownload, IconUpload } from '@tabler/icons-react';
import { useRef, useState } from 'react';
import { download } from '../../format/download.ts';
import { command } from '../../format/shell.ts';
import { bytes } from '../../format/size.ts';
import { Async } from '../../ui/async.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { Page, Section } from '../../ui/page.tsx';
import { goToLine, type LineProblem, TextEditor } from '../../ui/text-editor.tsx';
import { FileOutcome } from './file-plan.tsx';
import { FileProblems } from './file-problems.tsx';
import './site-file.css';
import { type Outcome, type SiteFileState, useSiteFile } from './use-site-file.ts';

const FILE_NAME = 'site.yaml';
/** Of a request of the API. */
const BYTES_MAX = 1024 * 1024;
const STATE_ID = 'site-file-state';

const stateText = ({ draft, outcome }: SiteFileState, text: string): string => {
  if (draft === null) return 'No changes: this is the current site.';
  return outcome.kind === 'applied' && outcome.text === text
    ? 'This file is applied.'
    : 'Edited. Nothing changes before you apply it.';
};

/** A line that was edited since has another problem, or none. */
const marksOf = (outcome: Outcome, text: string): readonly LineProblem[] => {
  if (outcome.kind !== 'problems') return [];
  const [planned, shown] = [outcome.text.split('\n'), text.split('\n')];
  return outcome.problems.flatMap(({ line, message }) =>
    line !== null && planned[line - 1] === shown[line - 1] ? [{ line, message }] : [],
  );
};

const Upload = ({ onRead }: Readonly<{ onRead(text: string): void }>) => {
  const [problem, setProblem] = useState<string | null>(null);
  const read = async (file: File | null): Promise<void> => {
    if (file === null) return;
    const isTooLarge = file.size > BYTES_MAX;
    setProblem(
      isTooLarge ? `${file.name} has ${bytes(file.size)}. A site file has at most ${bytes(BYTES_MAX)}.` : null,
    );
    if (!isTooLarge) onRead(await file.text());
  };
  return (
    <>
      {problem !== null && <span role="alert">{problem}</span>}
      <FileButton accept=".yaml,.yml,.json" onChange={(file) => void read(file)}>
        {(props) => (
          <Button {...props} size="compact-sm" variant="default" leftSection={<IconUpload size={15} aria-hidden />}>
            Upload
          </Button>
        )}
      </FileButton>
    </>
  );
};

const Editor = ({ of, text }: Readonly<{ of: SiteFileState; text: string }>) => {
  const field = useRef<HTMLTextAreaElement>(null);
  const { outcome, draft, edit } = of;
  return (
    <Section
      title="File"
      actions={
        <>
          <Upload onRead={edit} />
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconDownload size={15} aria-hidden />}
            onClick={() => download(FILE_NAME, text, 'application/yaml')}
          >
            Download
          </Button>
          <CopyButton text={text} label="site file" />
        </>
      }
    >
      <Stack gap="sm">
        <TextEditor
          label="Site file"
          describedBy={STATE_ID}
          value={text}
          problems={marksOf(outcome, text)}
          field={field}
          onChange={edit}
        />
        <Group justify="space-between" gap="sm">
          <span id={STATE_ID} className="muted">
            {stateText(of, text)}
          </span>
          <Group gap="xs">
            {draft !== null && (
              <Button variant="default" onClick={() => edit(null)}>
                Show the current site
              </Button>
            )}
            <Button loading={of.isPlanning} onClick={() => void of.plan(text)}>
              Plan
            </Button>
          </Group>
        </Group>
        {outcome.kind === 'problems' && (
          <FileProblems
            problems={outcome.problems}
            correlationId={outcome.correlation_id}
            onGo={(line) => goToLine(field.current, line)}
          />
        )}
        {outcome.kind === 'failed' && <ErrorPanel error={outcome.error} onRetry={() => void of.plan(text)} />}
        <CliCommand command={command(['admin', 'site', 'plan', '-f', FILE_NAME])} />
      </Stack>
    </Section>
  );
};

export const SiteFilePage = () => {
  const of = useSiteFile();
  return (
    <Page
      title="Site file"
      subtitle="What the site offers and who may use it, as one file: regions, SKUs, VM profiles, prices, images, pools, sign-up policy, GPU limits and group mappings."
    >
      <p style={{ margin: 0 }}>
        A section that you leave out is not changed. A section that is there is complete: what it does not list is
        retired, deleted or cancelled.{' '}
        <a className="link" href="/site.schema.json" target="_blank" rel="noreferrer">
          Schema of the file
        </a>
        . More in <code>doc/operations/site-file.md</code>.
      </p>
      {of.draft === null ? (
        <Async of={of.current} label="Site file" rows={12}>
          {(text) => <Editor of={of} text={text} />}
        </Async>
      ) : (
        <Editor of={of} text={of.draft} />
      )}
      <FileOutcome of={of} text={of.draft ?? of.current.data ?? ''} />
    </Page>
  );
};
