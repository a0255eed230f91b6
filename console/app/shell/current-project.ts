/** The project that pages outside of any project lead back to: the one of the address, else the one looked at last. */
import { useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useMe } from '../api/me.tsx';

const KEY = 'gpuaas-project';

const remembered = (): string | null => {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
};

export const useCurrentProject = (): string | null => {
  const { projectId } = useParams({ strict: false });
  const me = useMe();
  const known = (id: string | null | undefined) => me.projects.some((project) => project.id === id);
  const current = [projectId, remembered()].find(known) ?? me.projects[0]?.id ?? null;
  useEffect(() => {
    if (projectId === undefined || projectId !== current) return;
    try {
      localStorage.setItem(KEY, projectId);
    } catch {
      // Nothing is lost but a convenience.
    }
  }, [projectId, current]);
  return current;
};
