/** Cached images on a host: a launch does not have to wait for a cached image. */
import type { Node, NodeImage } from '@gpuaas/sdk';
import { Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMay } from '../../api/me.tsx';
import { useAll, useRead } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { bytes } from '../../format/size.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { Copyable } from '../../ui/copy.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { DialogForm, FormDialog } from '../../ui/form-dialog.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { Ago } from '../../ui/time.tsx';
import { DirectAction } from './action-controls.tsx';

const columns = (node: Node, refusal: string | null): readonly Column<NodeImage>[] => [
  { header: 'Image', cell: ({ name }) => name ?? <span className="muted">not in the catalog</span> },
  {
    header: 'Digest',
    cell: ({ digest }) => (
      <Copyable text={digest} label="digest">
        {digest.slice(0, 19)}…
      </Copyable>
    ),
  },
  { header: 'Size', cell: ({ size_bytes }) => bytes(size_bytes), align: 'right' },
  {
    header: 'Last verified',
    cell: ({ verified_at }) => (verified_at === null ? 'never' : <Ago at={verified_at} />),
    isSecondary: true,
  },
  {
    header: 'Last used',
    cell: ({ last_used_at }) => (last_used_at === null ? 'never' : <Ago at={last_used_at} />),
    isSecondary: true,
  },
  {
    header: 'Actions',
    isHeaderHidden: true,
    align: 'right',
    cell: ({ digest, name }) => (
      <Group gap={4} justify="flex-end">
        <DirectAction
          label="Verify"
          aria-label={`Verify ${name ?? digest}`}
          size="xs"
          disabledReason={refusal}
          operation="adminNodeImageVerify"
          request={{ params: { node_id: node.id }, body: { digest } }}
        />
        <DirectAction
          label="Evict"
          aria-label={`Evict ${name ?? digest}`}
          size="xs"
          disabledReason={refusal}
          operation="adminNodeImageEvict"
          request={{ params: { node_id: node.id }, body: { digest } }}
        />
      </Group>
    ),
  },
];

const PullForm = ({ node, onClose }: Readonly<{ node: Node; onClose: () => void }>) => {
  const pull = useChange('adminNodeImagePull');
  const images = useAll('osImageList', {});
  const form = useForm({ initialValues: { chosen: '', digest: '' } });
  const { chosen } = form.getValues();
  const digest = form.getValues().digest.trim();
  const name = chosen === '' ? (images.data?.[0]?.name ?? '') : chosen;
  const submit = async () => {
    const answer = await pull.run({
      params: { node_id: node.id },
      body: { image_name: name, ...(digest === '' ? {} : { digest }) },
    });
    if (answer !== null) onClose();
  };
  return (
    <DialogForm
      submitLabel="Pull"
      missing={name === '' ? 'The catalog has no images.' : null}
      isRunning={pull.isRunning}
      error={pull.error}
      onSubmit={submit}
      onCancel={onClose}
      command={command(['admin', 'node', 'image', 'pull', node.name, name], [['digest', digest]])}
    >
      <NativeSelect
        label="Image"
        data={(images.data ?? []).map((image) => ({ value: image.name, label: image.display_name }))}
        {...form.getInputProps('chosen')}
        value={name}
      />
      <TextInput
        label="Digest"
        description="Optional. The newest version if empty."
        placeholder="sha256:…"
        {...form.getInputProps('digest')}
      />
      <Text className="muted">
        The host downloads the image in a task; see Tasks. If the host is configured for it, the least recently used
        images are evicted.
      </Text>
    </DialogForm>
  );
};

export const ImagesTab = ({ node }: Readonly<{ node: Node }>) => {
  const images = useRead('adminNodeImageList', { params: { node_id: node.id } }, { everyMs: 10_000 });
  const refusal = useMay()('admin.node.update');
  const [isPulling, setPulling] = useState(false);
  return (
    <Section
      title="Cached images"
      flush
      actions={
        <ActionButton size="xs" variant="default" disabledReason={refusal} onClick={() => setPulling(true)}>
          Pull image
        </ActionButton>
      }
    >
      <Async of={images} rows={4} label="Loading images">
        {(found) =>
          found.unreadable !== null ? (
            <EmptyState title="Image cache not readable">{found.unreadable}</EmptyState>
          ) : found.images.length === 0 ? (
            <EmptyState title="No cached images">
              {found.observed_at === null
                ? 'The agent has not reported the image cache yet.'
                : 'The first launch of an image downloads it. Pull the image in advance to avoid the wait.'}
            </EmptyState>
          ) : (
            <DataTable
              label="Images"
              columns={columns(node, refusal)}
              rows={found.images}
              rowKey={({ digest }) => digest}
            />
          )
        }
      </Async>
      <FormDialog title={`Pull image to ${node.name}`} isOpen={isPulling} onClose={() => setPulling(false)}>
        {isPulling && <PullForm node={node} onClose={() => setPulling(false)} />}
      </FormDialog>
    </Section>
  );
};
