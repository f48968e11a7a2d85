// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages about feeds that cannot be read */
#include <errno.h>
#include <string.h>

#include "feed.h"
#include "tool.h"

int feed_failed(const struct feed *f, int err)
{
	const char *name = !f->path ? "the session" : strcmp(f->path, "-") ? f->path :
			   "standard input";

	if (err == -EBADMSG)
		tool_error("%s is damaged: the rest cannot be read", tool_text(name));
	else if (err == -EDQUOT)
		tool_error("%s needs more memory than --memory allows: choose %sa larger --memory",
			   tool_text(name), f->path || f->attach ? "" :
			   "fewer providers or categories, or ");
	else if (err == -ENOMEM)
		tool_error("there is not enough memory to analyse %s: free some, or choose a smaller --memory, with which the analysis restarts earlier",
			   tool_text(name));
	else
		tool_cannot_read(name, fxt_error_text(err));
	return err;
}
