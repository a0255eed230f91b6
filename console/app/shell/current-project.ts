/** The project that pages outside of any project return to: the one of the URL, else the last one viewed. */
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
      // Only a convenience is lost.
    }
  }, [projectId, current]);
  return current;
};
